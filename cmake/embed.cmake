# cmake -DFROM=FILE -DTO=FILE -P embed.cmake: writes the bytes of FROM as the elements of a C array.
file(READ ${FROM} bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
string(REPLACE "0x0a," "0x0a,\n" bytes "${bytes}")
file(WRITE ${TO} "${bytes}")
