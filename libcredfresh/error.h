/* SPDX-License-Identifier: MIT */
/* The error of libcredfresh's internal functions. Internal names begin with cfl_. */
#ifndef CFL_ERROR_H
#define CFL_ERROR_H

#include "credfresh.h"

#define CFL_TEXT_MAX 400

struct cfl_error {
    int code;
    char text[CFL_TEXT_MAX];
};

/* Sets the text; returns CODE. E is never NULL. */
int cfl_fail(struct cfl_error *e, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same for the errno value ERROR, whose description is appended. Returns the code it maps to. */
int cfl_fail_errno(struct cfl_error *e, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Copies E's text for the caller of a public function. Returns E's code. */
int cfl_report(const struct cfl_error *e, char *text, size_t text_size);

#endif
