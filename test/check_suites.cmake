# SPDX-License-Identifier: BSL-1.0
#
# Compares the suites that EXECUTABLE holds with the list SUITES that are run as tests.
execute_process(COMMAND ${EXECUTABLE} --list_content
  OUTPUT_VARIABLE content ERROR_VARIABLE content RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${EXECUTABLE} --list_content failed (${result}):\n${content}")
endif()
# The outermost level is not indented; a star marks what is enabled.
string(REGEX MATCHALL "(^|\n)[^ \n:]+" found "${content}")
list(TRANSFORM found REPLACE "[\n*]" "")
set(missing ${found})
list(REMOVE_ITEM missing ${SUITES})
set(unknown ${SUITES})
list(REMOVE_ITEM unknown ${found})
if(missing)
  message(SEND_ERROR "in the executable, but not run by any test: ${missing}")
endif()
if(unknown)
  message(SEND_ERROR "run by a test, but not in the executable: ${unknown}")
endif()
list(LENGTH found count)
message(STATUS "${count} suites: ${found}")
