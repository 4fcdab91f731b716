# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
#
# Tests of the number formats; the vector conversions once for each instruction set that the engine is built for.
add_executable(formats ${CMAKE_CURRENT_LIST_DIR}/formats.cpp)
target_include_directories(formats PRIVATE ${PROJECT_SOURCE_DIR}/native)
add_test(NAME formats COMMAND formats)

set(formats_targets portable)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  list(APPEND formats_targets avx2 avx512)
  set(formats_flags_avx2 -mavx2 -mfma -mf16c)
  set(formats_flags_avx512 ${formats_flags_avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl)
endif()
foreach(target ${formats_targets})
  # GCC 12 warns about its own AVX-512 headers (its bug 105593).
  add_library(formats_kernels_${target} OBJECT ${CMAKE_CURRENT_LIST_DIR}/formats_vectors.cpp)
  target_include_directories(formats_kernels_${target} PRIVATE ${PROJECT_SOURCE_DIR}/native)
  target_compile_options(formats_kernels_${target} PRIVATE
    -O3 -ffp-contract=off -Wno-uninitialized -Wno-maybe-uninitialized ${formats_flags_${target}})
  string(TOUPPER ${target} upper)
  add_executable(formats_${target} ${CMAKE_CURRENT_LIST_DIR}/formats_vectors_main.cpp)
  target_compile_definitions(formats_${target} PRIVATE FORMATS_TARGET_${upper})
  target_link_libraries(formats_${target} PRIVATE formats_kernels_${target})
  add_test(NAME formats_${target} COMMAND formats_${target})
  set_tests_properties(formats_${target} PROPERTIES SKIP_RETURN_CODE 77)
endforeach()
