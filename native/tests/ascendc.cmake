# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
#
# Tests of the AscendC kernels in the simulator: they link kernels and launch directly, and the host engine to compare.
if(ACL_ATTN_BUILD_SIM)
  add_executable(ascendc_flash_attention ${CMAKE_CURRENT_LIST_DIR}/ascendc_flash_attention.cpp)
  target_link_libraries(
    ascendc_flash_attention PRIVATE acl_attn_engine acl_attn_launch_sim acl_attn_kernels_2201 acl_attn_kernels_3510
                                    acl_attn_simulator)
  add_test(NAME ascendc_flash_attention COMMAND ascendc_flash_attention)
  set_tests_properties(ascendc_flash_attention PROPERTIES TIMEOUT 1500)

  # Not a test: what the cost model says of known calls.
  add_executable(bench_npu_model ${CMAKE_CURRENT_LIST_DIR}/bench_npu_model.cpp)
  target_link_libraries(bench_npu_model PRIVATE acl_attn_engine acl_attn_launch_sim acl_attn_kernels_2201
                                                acl_attn_kernels_3510 acl_attn_simulator)
endif()
