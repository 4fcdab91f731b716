# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
#
# The operator's tests.
add_api_test(geometry geometry.cpp)
target_include_directories(geometry PRIVATE ${PROJECT_SOURCE_DIR}/native)

add_api_test(two_phase_c two_phase.c)
target_link_libraries(two_phase_c PRIVATE m)
add_api_test(two_phase two_phase.cpp)
add_api_test(two_phase_rules two_phase_rules.cpp)
add_api_test(two_phase_features two_phase_features.cpp)
add_api_test(rule_examples rule_examples.cpp ${CMAKE_CURRENT_SOURCE_DIR}/rule_examples.txt)
add_api_test(profiles profiles.cpp)
add_api_test(two_phase_full_quant two_phase_full_quant.cpp)
add_api_test(two_phase_stored two_phase_stored.cpp)
add_api_test(two_phase_fuzz two_phase_fuzz.cpp)
add_api_test(two_phase_in_flight two_phase_in_flight.cpp)

add_executable(two_phase_unload two_phase_unload.cpp)
target_include_directories(two_phase_unload PRIVATE ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(two_phase_unload PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
add_dependencies(two_phase_unload acl_attn)
add_test(NAME two_phase_unload COMMAND two_phase_unload $<TARGET_FILE:acl_attn>)
# A library that is unloaded in the middle of things leaves memory behind.
set_tests_properties(two_phase_unload PROPERTIES
  TIMEOUT 120 ENVIRONMENT "ACL_ATTN_PROFILE=host;ASAN_OPTIONS=detect_leaks=0")

# Many waits for a stream: slow under a sanitizer on a machine that is busy with other things.
set_tests_properties(two_phase two_phase_fuzz two_phase_in_flight PROPERTIES TIMEOUT 600)

# Not a test: it times phase one.
add_executable(bench_phase_one bench_phase_one.cpp)
target_link_libraries(bench_phase_one PRIVATE acl_attn Threads::Threads)
