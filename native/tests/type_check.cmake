# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
#
# Compiles SOURCE for ARCH with COMPILER, syntax only, in each of MODES, which commas separate: that has to pass without
# a warning. FAULTS more times with the macro CASE from 1 up, which puts a fault in: that must not compile.
#
# simulator                      the simulator's headers, the kind of core a test at run time
# simulator_unsplit, _cube, _vector  ... known, as in a pass of the device's compiler
# debug                          vendor_like/: the vendor's CPU-debug branch
# unsplit, cube, vector          ... the device's branch, for clang: its passes, an address space for each memory
# cube_calls, vector_calls       ... and that kernels call functions of the device only
set(pass_cube -D__DAV_CUBE__)
set(pass_vector -D__DAV_VEC__)
set(pass_unsplit "")

function(flags_of mode)
  if(mode STREQUAL "simulator")
    set(flags -I${ROOT}/native/sim/include)
  elseif(mode MATCHES "^simulator_(.*)$")
    set(flags -include ${ROOT}/native/tests/one_pass.h -I${ROOT}/native/sim/include ${pass_${CMAKE_MATCH_1}})
  elseif(mode STREQUAL "debug")
    set(flags -I${ROOT}/native/tests/vendor_like)
  else()
    string(REGEX REPLACE "_calls$" "" pass ${mode})
    set(flags -DACL_ATTN_VENDOR_DEVICE -I${ROOT}/native/tests/vendor_like ${pass_${pass}})
    if(mode MATCHES "_calls$")
      # The language in which clang tells functions of a device from those of the host; nothing of CUDA itself is used.
      # There, constexpr functions would be both.
      list(APPEND flags -x cuda --cuda-device-only -nocudainc -nocudalib -Wno-unknown-cuda-version -Xclang
                        -fno-cuda-host-device-constexpr)
    endif()
  endif()
  set(flags ${flags} PARENT_SCOPE)
endfunction()

# Functions of vendor_like/ are declared only.
set(common -std=c++17 -fsyntax-only -Wall -Wextra -Wno-undefined-internal -D__NPU_ARCH__=${ARCH} -I${ROOT}/native)
string(REPLACE "," ";" modes ${MODES})
foreach(mode ${modes})
  flags_of(${mode})
  foreach(case RANGE ${FAULTS})
    set(strictness "")
    if(case EQUAL 0)
      set(strictness -Werror)
    endif()
    execute_process(
      COMMAND ${COMPILER} ${flags} ${common} ${strictness} -DCASE=${case} ${SOURCE}
      RESULT_VARIABLE status
      ERROR_VARIABLE messages)
    if(case EQUAL 0 AND NOT status EQUAL 0)
      message(FATAL_ERROR "${SOURCE} does not compile for ${ARCH}, mode ${mode}:\n${messages}")
    elseif(case GREATER 0 AND NOT status EQUAL 1)
      message(SEND_ERROR "case ${case} for ${ARCH}, mode ${mode}: expected an error, got ${status}:\n${messages}")
    endif()
  endforeach()
endforeach()
