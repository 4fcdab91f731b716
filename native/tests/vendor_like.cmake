# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
#
# Checks the types of the kernels and of the probe against headers as strict as the vendor's, by the host's compiler and
# by clang, which the device's compiler is made from; type_check.cmake describes the modes. All are one unit, as in the
# launch file for an NPU.
get_target_property(sources acl_attn_kernels_2201 SOURCES)
set(unit "")
foreach(source ${sources} ${PROJECT_SOURCE_DIR}/native/ascendc/api_probe.cpp)
  string(APPEND unit "#include \"${source}\"\n")
endforeach()
set(kernels ${CMAKE_CURRENT_BINARY_DIR}/vendor_like_unit.cpp)
file(GENERATE OUTPUT ${kernels} CONTENT "${unit}")

set(refused ${CMAKE_CURRENT_LIST_DIR}/sim_refused.cpp)
set(refused_by_device ${CMAKE_CURRENT_LIST_DIR}/vendor_like/device_refused.cpp)

# A test for each chip: `source` in each of `modes`, which commas separate. With `faults`, that many cases of it may
# not compile.
function(add_type_check name compiler source faults modes)
  foreach(arch 2201 3510)
    add_test(
      NAME ${name}_${arch}
      COMMAND ${CMAKE_COMMAND} -D COMPILER=${compiler} -D ARCH=${arch} -D ROOT=${PROJECT_SOURCE_DIR}
              -D SOURCE=${source} -D FAULTS=${faults} -D MODES=${modes}
              -P ${PROJECT_SOURCE_DIR}/native/tests/type_check.cmake)
    set_tests_properties(${name}_${arch} PROPERTIES TIMEOUT 1500)
  endforeach()
endfunction()

set(passes simulator_unsplit,simulator_cube,simulator_vector)
add_type_check(kernel_types ${CMAKE_CXX_COMPILER} ${kernels} 0 debug,${passes})
add_type_check(sim_refused ${CMAKE_CXX_COMPILER} ${refused} 23 simulator,debug)

find_program(ACL_ATTN_CLANGXX NAMES clang++ clang++-19 clang++-18 clang++-17 clang++-16 clang++-15 clang++-14)
if(ACL_ATTN_CLANGXX)
  add_type_check(kernel_types_clang ${ACL_ATTN_CLANGXX} ${kernels} 0 simulator,debug,${passes})
  add_type_check(
    kernel_types_device ${ACL_ATTN_CLANGXX} ${kernels} 0 unsplit,cube,vector,unsplit_calls,cube_calls,vector_calls)
  add_type_check(device_refused ${ACL_ATTN_CLANGXX} ${refused} 23 unsplit)
  add_type_check(device_branch_refused ${ACL_ATTN_CLANGXX} ${refused_by_device} 8 unsplit_calls,cube_calls,vector_calls)
else()
  add_test(NAME kernel_types_device COMMAND ${CMAKE_COMMAND} -E echo "skipped: clang++ is not here")
  set_tests_properties(kernel_types_device PROPERTIES SKIP_REGULAR_EXPRESSION "skipped")
endif()
