# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
#
# Tests of the compute engine: they link its objects directly, because the shared library exports none of it.
foreach(test correctness determinism features hostile primitives sparse sparse_determinism threads)
  add_executable(engine_${test} ${CMAKE_CURRENT_LIST_DIR}/engine_${test}.cpp)
  target_link_libraries(engine_${test} PRIVATE acl_attn_engine)
  if(test STREQUAL "threads" AND CMAKE_CROSSCOMPILING)
    add_test(NAME engine_${test} COMMAND engine_${test} no-fork)
  else()
    add_test(NAME engine_${test} COMMAND engine_${test})
  endif()
  set_tests_properties(engine_${test} PROPERTIES TIMEOUT 1500)  # an emulator or a sanitizer takes its time
endforeach()

# Not a test: times the engine alone.
add_executable(bench_engine ${CMAKE_CURRENT_LIST_DIR}/bench_engine.cpp)
target_link_libraries(bench_engine PRIVATE acl_attn_engine)
