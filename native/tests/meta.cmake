# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
foreach(name objects handles)
  add_api_test(meta_${name} meta_${name}.cpp)
  set_tests_properties(meta_${name} PROPERTIES ENVIRONMENT "${sanitizer_environment}")
endforeach()

# The protocol between phases is internal: this test is built with the sources it tests.
file(GLOB protocol_sources CONFIGURE_DEPENDS
     ${PROJECT_SOURCE_DIR}/native/runtime/*.cpp ${PROJECT_SOURCE_DIR}/native/meta/*.cpp)
add_executable(meta_executor meta_executor.cpp ${protocol_sources})
target_include_directories(meta_executor PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/native)
target_compile_definitions(meta_executor PRIVATE ACL_ATTN_VERSION="${PROJECT_VERSION}")
target_link_libraries(meta_executor PRIVATE Threads::Threads)
add_test(NAME meta_executor COMMAND meta_executor)
set_tests_properties(meta_executor PROPERTIES TIMEOUT 120 ENVIRONMENT "${sanitizer_environment}")
