cmake_minimum_required(VERSION 3.25)
# Writes OUT: the commit of the sources in SOURCE, and its date, as `credfresh version` prints them. Without git, such as in an
# archive of a release, $CFR_COMMIT and $SOURCE_DATE_EPOCH; what is not known is left out.
set(commit "$ENV{CFR_COMMIT}")
set(date)
execute_process(COMMAND git -C ${SOURCE} rev-parse --show-toplevel
    OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
get_filename_component(source "${SOURCE}" REALPATH)
if(NOT failed AND top STREQUAL source)
    execute_process(COMMAND git -C ${SOURCE} -c core.abbrev=12 log -1 --format=%h
        OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    execute_process(COMMAND ${CMAKE_COMMAND} -E env TZ=UTC git -C ${SOURCE} log -1 --date=format-local:%Y-%m-%d --format=%cd
        OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(DEFINED ENV{SOURCE_DATE_EPOCH})
    string(TIMESTAMP date "%Y-%m-%d" UTC) # of SOURCE_DATE_EPOCH, where it is set
endif()
set(known ${commit} ${date})
list(JOIN known ", " text)
if(text)
    set(text " (${text})")
endif()
file(CONFIGURE OUTPUT "${OUT}" CONTENT "#define CFR_COMMIT \"@text@\"\n" @ONLY)
