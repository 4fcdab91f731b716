# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
#
# Tests of the compute engine: they link its objects directly, because the shared library exports none of it.
foreach(test codes correctness determinism features float4 full_quant hostile primitives sparse sparse_determinism
        threads)
  add_executable(engine_${test} ${CMAKE_CURRENT_LIST_DIR}/engine_${test}.cpp)
  target_link_libraries(engine_${test} PRIVATE acl_attn_engine)
  if(test STREQUAL "threads" AND CMAKE_CROSSCOMPILING)
    add_test(NAME engine_${test} COMMAND engine_${test} no-fork)
  else()
    add_test(NAME engine_${test} COMMAND engine_${test})
  endif()
  set_tests_properties(engine_${test} PROPERTIES TIMEOUT 1500)  # an emulator or a sanitizer takes its time
endforeach()

# The longest first, so that no core is idle at the end of a parallel run.
set_tests_properties(engine_sparse engine_sparse_determinism engine_features PROPERTIES COST 100)

# The baseline's tiles: kernels on emulated AMX registers, compiled here.
foreach(test amx sparse_amx)
  add_executable(engine_${test} ${CMAKE_CURRENT_LIST_DIR}/engine_${test}.cpp)
  target_link_libraries(engine_${test} PRIVATE acl_attn_engine)
  target_compile_options(engine_${test} PRIVATE -ffp-contract=off -Wno-psabi)
  add_test(NAME engine_${test} COMMAND engine_${test})
endforeach()

# Not tests: they time the engine alone.
foreach(bench engine full_quant prefill sparse)
  add_executable(bench_${bench} ${CMAKE_CURRENT_LIST_DIR}/bench_${bench}.cpp)
  target_link_libraries(bench_${bench} PRIVATE acl_attn_engine acl_attn_bench)
endforeach()
