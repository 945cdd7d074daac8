# The one target that carries every compiler and linker flag.
add_library(cfr_flags INTERFACE)
target_compile_definitions(cfr_flags INTERFACE _GNU_SOURCE CFR_VERSION="${PROJECT_VERSION}")
if(CFR_TESTS)
    target_compile_definitions(cfr_flags INTERFACE CFR_DOCS)
endif()
target_include_directories(cfr_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(cfr_flags INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wcast-align -Wcast-qual
    -Wformat=2 -Wformat-security -Wmissing-prototypes -Wstrict-prototypes -Wold-style-definition
    -Wpointer-arith -Wundef -Wvla -Wwrite-strings -Wimplicit-fallthrough -Wnull-dereference
    -fno-common -fstack-protector-strong -ffunction-sections -fdata-sections
    $<$<BOOL:${CFR_WERROR}>:-Werror>)
target_link_options(cfr_flags INTERFACE -Wl,--gc-sections -Wl,--as-needed)

# Set by the preset static, which tools/build-static.sh uses: it makes the archives that this needs.
option(CFR_STATIC "Link the program statically, against archives only" OFF)
set(CFR_LIBRARIES "" CACHE FILEPATH "What the static program is linked from, for `credfresh version --verbose`")
if(CFR_STATIC OR CFR_DEBIAN)
    # Neither the folder of the sources nor that of the build is to show in what is shipped.
    target_compile_options(cfr_flags INTERFACE
        -ffile-prefix-map=${PROJECT_BINARY_DIR}=build -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)
endif()
if(CFR_STATIC)
    # The stack is never unwound, see static.ld.
    target_compile_options(cfr_flags INTERFACE -g -fno-asynchronous-unwind-tables -fno-unwind-tables)
    target_link_options(cfr_flags INTERFACE -static-pie -Wl,-z,pack-relative-relocs -Wl,--no-eh-frame-hdr
        -Wl,-T,${PROJECT_SOURCE_DIR}/cmake/static_often.ld -Wl,-T,${PROJECT_SOURCE_DIR}/cmake/static.ld -Wl,--build-id=sha1 -Wl,-Map=${PROJECT_BINARY_DIR}/agent/credfresh.map)
endif()

if(CFR_SANITIZE)
    # The tests take a fifth less of the processor than with the -O0 of a debug build.
    target_compile_options(cfr_flags INTERFACE -fsanitize=${CFR_SANITIZE} -fno-sanitize-recover=all
        -fno-omit-frame-pointer $<$<CONFIG:Debug>:-O1>)
    target_link_options(cfr_flags INTERFACE -fsanitize=${CFR_SANITIZE})
else()
    target_compile_options(cfr_flags INTERFACE
        $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2>)
    target_link_options(cfr_flags INTERFACE
        $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack>)
endif()
if(CMAKE_BUILD_TYPE MATCHES "Rel" AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|amd64")
    target_compile_options(cfr_flags INTERFACE -fstack-clash-protection)
    if(NOT CFR_STATIC) # it counts only in a program of which every part has it, which Debian's archives have not
        target_compile_options(cfr_flags INTERFACE -fcf-protection=full)
    endif()
endif()

if(NOT CFR_STATIC) # there CMake's -pie would come after -static-pie and undo it
    include(CheckPIESupported)
    check_pie_supported()
endif()

# cfr_module(NAME sources...): one folder, one static library.
function(cfr_module name)
    add_library(cfr_${name} STATIC ${ARGN})
    target_link_libraries(cfr_${name} PUBLIC cfr_flags)
endfunction()
