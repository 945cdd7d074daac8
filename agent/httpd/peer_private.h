/* SPDX-License-Identifier: MIT */
/* Other ends of TCP connections: their names, and whether they are this machine. */
#ifndef CFR_AGENT_HTTPD_PEER_PRIVATE_H
#define CFR_AGENT_HTTPD_PEER_PRIVATE_H

#include "agent/httpd/server.h"

#include <sys/socket.h>

/* Addresses in 127.0.0.0/8, and ::1. */
bool cfr_httpd_peer_is_loopback(const struct sockaddr *a);
/* The same, and addresses of the interface lo. Those of other interfaces count as arriving there even from this
 * machine. */
bool cfr_httpd_peer_is_on_lo(const struct sockaddr *a);
/* As cfr_httpd_peer_is_loopback, for the address that the socket FD is bound to. */
bool cfr_httpd_peer_is_socket_loopback(int fd);
/* Copies the bytes of the IP address of A. Returns their count, 4 or 16, and 4 of an IPv4 peer of a
 * listener for both; 0 if A is NULL or no IP address. */
size_t cfr_httpd_peer_address(const struct sockaddr *a, unsigned char out[16]);
/* "127.0.0.1"; empty if A is NULL or no IP address. */
void cfr_httpd_peer_name(const struct sockaddr *a, char text[64]);
/* Fills OUT for the peer A of a listener, which LOOPBACK says is on a loopback address. Asks the kernel each time:
 * addresses come and go. */
void cfr_httpd_peer_origin(const struct sockaddr *a, bool loopback, struct cfr_httpd_origin *out);
/* *UID: of the program at the other end of FD, a connection within this machine, whose address is PEER, NULL on a Unix
 * socket. *DIAG_FD is a descriptor for questions to the kernel, -1 at first, to be closed by the caller. False if the
 * kernel does not tell: the other end is closed, or in another network namespace. */
bool cfr_httpd_peer_user(int *diag_fd, int fd, const struct sockaddr *peer, uint32_t *uid);

#endif
