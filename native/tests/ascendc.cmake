# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
#
# Tests of the AscendC kernels in the simulator: they link kernels and launch directly, and the host engine to compare.
if(ACL_ATTN_BUILD_SIM)
  foreach(test ascendc_flash_attention ascendc_full_quant ascendc_sparse_attention)
    add_executable(${test} ${CMAKE_CURRENT_LIST_DIR}/${test}.cpp)
    target_link_libraries(${test} PRIVATE acl_attn_engine acl_attn_launch_sim acl_attn_kernels_2201
                                          acl_attn_kernels_3510 acl_attn_simulator)
    add_test(NAME ${test} COMMAND ${test})
    set_tests_properties(${test} PROPERTIES TIMEOUT 1500)
  endforeach()

  # What is watched of a launch, by kernels of its own.
  foreach(arch 2201 3510)
    add_executable(ascendc_watching_${arch} ${CMAKE_CURRENT_LIST_DIR}/ascendc_watching.cpp)
    target_compile_definitions(ascendc_watching_${arch} PRIVATE __NPU_ARCH__=${arch})
    target_include_directories(ascendc_watching_${arch} PRIVATE ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(
      ascendc_watching_${arch} PRIVATE acl_attn_engine acl_attn_launch_sim acl_attn_kernels_2201 acl_attn_kernels_3510
                                       acl_attn_simulator)
    add_test(NAME ascendc_watching_${arch} COMMAND ascendc_watching_${arch})
    set_tests_properties(ascendc_watching_${arch} PROPERTIES TIMEOUT 120)
  endforeach()

  # What the compiler must take before it sees the kernels, and that nothing else is called.
  foreach(arch 2201 3510)
    add_library(acl_attn_api_probe_${arch} OBJECT ${PROJECT_SOURCE_DIR}/native/ascendc/api_probe.cpp)
    # Compiled to be accepted, not to run: optimising one function of all calls takes minutes.
    target_compile_options(acl_attn_api_probe_${arch} PRIVATE -O0)
    target_compile_definitions(acl_attn_api_probe_${arch} PRIVATE __NPU_ARCH__=${arch})
    target_include_directories(
      acl_attn_api_probe_${arch} PRIVATE ${PROJECT_SOURCE_DIR}/native ${PROJECT_SOURCE_DIR}/native/sim/include)
  endforeach()
  include(vendor_like.cmake)
  find_package(Python 3.10 COMPONENTS Interpreter)
  if(Python_FOUND)
    add_test(NAME ascendc_api_list COMMAND ${Python_EXECUTABLE} ${PROJECT_SOURCE_DIR}/native/ascendc/api_list.py)
  endif()

  add_test(NAME exported_symbols_sim
    COMMAND ${CMAKE_COMMAND} -D NM=${CMAKE_NM} -D LIBRARY=$<TARGET_FILE:acl_attn_sim>
            -D INCLUDE=${PROJECT_SOURCE_DIR}/include -D ALSO=acl_attn_sim_launch
            -P ${CMAKE_CURRENT_SOURCE_DIR}/exported_symbols.cmake)

  # The operators' own tests through the C interface, with the simulator's checks, on both generations; those of the
  # sparse operators have packed rows, which dav-2201 has no kernels for.
  foreach(test two_phase two_phase_features two_phase_full_quant sparse_two_phase sparse_values)
    add_executable(${test}_sim ${CMAKE_CURRENT_LIST_DIR}/${test}.cpp)
    target_compile_definitions(${test}_sim PRIVATE ACL_ATTN_TEST_SIM)
    target_link_libraries(${test}_sim PRIVATE acl_attn_sim Threads::Threads)
    set(chips Ascend950PR_9599)
    if(NOT test MATCHES sparse)
      list(APPEND chips Ascend910B1)
    endif()
    foreach(chip ${chips})
      add_test(NAME ${test}_${chip} COMMAND ${test}_sim)
      set_tests_properties(
        ${test}_${chip}
        PROPERTIES TIMEOUT 1500
                   ENVIRONMENT "ACL_ATTN_PROFILE=host;ACL_ATTN_SOC_NAME=${chip};ACL_ATTN_SIM_CHECKS=1")
    endforeach()
  endforeach()

  add_executable(sparse_limits_sim ${CMAKE_CURRENT_LIST_DIR}/sparse_limits.cpp)
  target_link_libraries(sparse_limits_sim PRIVATE acl_attn_sim Threads::Threads)
  add_test(NAME sparse_limits_Ascend910B1 COMMAND sparse_limits_sim)
  set_tests_properties(
    sparse_limits_Ascend910B1
    PROPERTIES TIMEOUT 600 ENVIRONMENT "ACL_ATTN_PROFILE=host;ACL_ATTN_SOC_NAME=Ascend910B1;ACL_ATTN_SIM_CHECKS=1")

  # Not a test: what the cost model says of known calls.
  add_executable(bench_npu_model ${CMAKE_CURRENT_LIST_DIR}/bench_npu_model.cpp)
  target_link_libraries(bench_npu_model PRIVATE acl_attn_engine acl_attn_launch_sim acl_attn_kernels_2201
                                                acl_attn_kernels_3510 acl_attn_simulator)
endif()
