# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
#
# Every public header compiles alone, as C11 and as C++17, without a warning. One that does not fails the build of the
# tests.
file(GLOB_RECURSE public_headers RELATIVE ${PROJECT_SOURCE_DIR}/include CONFIGURE_DEPENDS
     ${PROJECT_SOURCE_DIR}/include/*.h)
set(header_sources)
foreach(header IN LISTS public_headers)
  string(MAKE_C_IDENTIFIER ${header} stem)
  foreach(language c cpp)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/headers/${stem}.${language})
    # Twice: include guards. The declaration: a translation unit of macros only would be empty.
    file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${header}\"\n#include \"${header}\"\nextern int ${stem};\n")
    list(APPEND header_sources ${source})
  endforeach()
endforeach()
add_library(headers_alone OBJECT ${header_sources})
target_include_directories(headers_alone PRIVATE ${PROJECT_SOURCE_DIR}/include)
target_compile_options(headers_alone PRIVATE -Wall -Wextra -Wpedantic -Werror
                       $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>)

# What the vendor's sample programs rely on at compile time.
add_executable(headers_usage headers_usage.cpp)
target_link_libraries(headers_usage PRIVATE acl_attn)
add_test(NAME headers_usage COMMAND headers_usage)

# Every function that include/ declares is exported, and nothing else.
add_test(NAME exported_symbols
  COMMAND ${CMAKE_COMMAND} -D NM=${CMAKE_NM} -D LIBRARY=$<TARGET_FILE:acl_attn>
          -D INCLUDE=${PROJECT_SOURCE_DIR}/include -P ${CMAKE_CURRENT_SOURCE_DIR}/exported_symbols.cmake)
