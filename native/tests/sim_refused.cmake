# SPDX-FileCopyrightText: The acl_attn authors
# SPDX-License-Identifier: Apache-2.0
#
# Compiles sim_refused.cpp for each of its cases: case 0 has to compile, the others must not.
foreach(case RANGE 0 12)
  execute_process(
    COMMAND ${COMPILER} -std=c++17 -fsyntax-only -D__NPU_ARCH__=${ARCH} -DCASE=${case} -I${ROOT}/native
            -I${ROOT}/native/sim/include ${ROOT}/native/tests/sim_refused.cpp
    RESULT_VARIABLE status
    ERROR_VARIABLE messages)
  if(case EQUAL 0)
    if(NOT status EQUAL 0)
      message(FATAL_ERROR "the calls without a fault do not compile:\n${messages}")
    endif()
  elseif(status EQUAL 0)
    message(SEND_ERROR "case ${case} compiles for ${ARCH}; the device's headers refuse it")
  endif()
endforeach()
