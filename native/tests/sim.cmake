# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
#
# Tests of the simulator, each compiled for both chips.
foreach(arch 2201 3510)
  set(tests api faults kernels ordering)
  if(arch EQUAL 3510)
    list(APPEND tests schedules second_chip)
  endif()
  foreach(test ${tests})
    set(name sim_${test}_${arch})
    add_executable(${name} ${CMAKE_CURRENT_LIST_DIR}/sim_${test}.cpp)
    target_compile_definitions(${name} PRIVATE __NPU_ARCH__=${arch})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(${name} PRIVATE acl_attn_simulator)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT 300)
  endforeach()
endforeach()
