/* SPDX-License-Identifier: MIT */
/* The program credfresh. */
#include "agent/cmd/commands_private.h"

int main(int argc, char **argv)
{
    return cfr_cmd_main(argc, argv);
}
