# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
#
# Tests of the compute engine: they link its objects directly, because the shared library exports none of it.
foreach(test engine_correctness engine_determinism engine_hostile engine_primitives engine_threads)
  add_executable(${test} ${CMAKE_CURRENT_LIST_DIR}/${test}.cpp)
  target_link_libraries(${test} PRIVATE acl_attn_engine)
  add_test(NAME ${test} COMMAND ${test})
endforeach()

add_executable(bench_engine ${CMAKE_CURRENT_LIST_DIR}/bench_engine.cpp)
target_link_libraries(bench_engine PRIVATE acl_attn_engine)
