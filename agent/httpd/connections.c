/* SPDX-License-Identifier: MIT */
/* Lists of connections in the order of their last activity. */
#include "agent/httpd/connections_private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static struct cfr_httpd_connection_list *find_list(struct cfr_httpd_connections *g,
                                                   const struct cfr_httpd_connection *one)
{
    return one->served ? &g->served : &g->unserved;
}

static void append(struct cfr_httpd_connection_list *list, struct cfr_httpd_connection *one)
{
    one->before = list->newest;
    one->after = NULL;
    if (list->newest != NULL)
        list->newest->after = one;
    else
        list->oldest = one;
    list->newest = one;
    list->count++;
}

static void remove_from(struct cfr_httpd_connection_list *list, struct cfr_httpd_connection *one)
{
    if (one->before != NULL)
        one->before->after = one->after;
    else
        list->oldest = one->after;
    if (one->after != NULL)
        one->after->before = one->before;
    else
        list->newest = one->before;
    list->count--;
}

struct cfr_httpd_connection *cfr_httpd_connections_come(struct cfr_httpd_connections *g, int fd, int64_t now_boot_ms)
{
    struct cfr_httpd_connection *one = calloc(1, sizeof *one);

    if (one == NULL)
        return NULL;
    one->fd = fd;
    one->since_boot_ms = now_boot_ms;
    one->owed = true;
    append(&g->unserved, one);
    return one;
}

void cfr_httpd_connections_active(struct cfr_httpd_connections *g, struct cfr_httpd_connection *one, bool served,
                                  int64_t now_boot_ms)
{
    if (one == NULL || one->ended)
        return;
    remove_from(find_list(g, one), one);
    one->served = one->served || served;
    one->since_boot_ms = now_boot_ms;
    append(find_list(g, one), one);
}

void cfr_httpd_connections_owe(struct cfr_httpd_connection *one, bool owed)
{
    if (one != NULL)
        one->owed = owed;
}

static bool has_owed(const struct cfr_httpd_connection_list *list)
{
    for (const struct cfr_httpd_connection *one = list->oldest; one != NULL; one = one->after) {
        if (one->owed)
            return true;
    }
    return false;
}

bool cfr_httpd_connections_owed(const struct cfr_httpd_connections *g)
{
    return has_owed(&g->unserved) || has_owed(&g->served);
}

void cfr_httpd_connections_go(struct cfr_httpd_connections *g, struct cfr_httpd_connection *one)
{
    if (one == NULL)
        return;
    if (!one->ended)
        remove_from(find_list(g, one), one);
    free(one);
}

static void end(struct cfr_httpd_connection_list *list, struct cfr_httpd_connection *one)
{
    remove_from(list, one);
    one->ended = true;
    /* Not closed: the descriptor belongs to the HTTP library. */
    (void)shutdown(one->fd, SHUT_RDWR);
}

static void end_oldest(struct cfr_httpd_connection_list *list)
{
    end(list, list->oldest);
}

/* The oldest connection in LIST of ONE's address. Adds the count of all of them to *COUNT. */
static struct cfr_httpd_connection *find_oldest_at(const struct cfr_httpd_connection_list *list,
                                                   const struct cfr_httpd_connection *one, size_t *count)
{
    struct cfr_httpd_connection *oldest = NULL;

    for (struct cfr_httpd_connection *each = list->oldest; each != NULL; each = each->after) {
        if (each->address_n != one->address_n || memcmp(each->address, one->address, one->address_n) != 0)
            continue;
        oldest = oldest == NULL ? each : oldest;
        (*count)++;
    }
    return oldest;
}

size_t cfr_httpd_connections_count_at(const struct cfr_httpd_connections *g, const struct cfr_httpd_connection *one)
{
    size_t count = 0;

    if (one->address_n == 0)
        return 0;
    (void)find_oldest_at(&g->unserved, one, &count);
    (void)find_oldest_at(&g->served, one, &count);
    return count;
}

void cfr_httpd_connections_make_room(struct cfr_httpd_connections *g, size_t max)
{
    while (g->unserved.count + g->served.count > max)
        end_oldest(g->unserved.count > max / 4 || g->served.count == 0 ? &g->unserved : &g->served);
}

void cfr_httpd_connections_make_room_at(struct cfr_httpd_connections *g, const struct cfr_httpd_connection *one,
                                        size_t max)
{
    while (cfr_httpd_connections_count_at(g, one) > max) {
        size_t unserved_count = 0;
        size_t served_count = 0;
        struct cfr_httpd_connection *unserved = find_oldest_at(&g->unserved, one, &unserved_count);
        struct cfr_httpd_connection *served = find_oldest_at(&g->served, one, &served_count);

        if (unserved_count > max / 4 || served == NULL)
            end(&g->unserved, unserved);
        else
            end(&g->served, served);
    }
}

static void end_idle(struct cfr_httpd_connection_list *list, int64_t before_boot_ms)
{
    while (list->oldest != NULL && list->oldest->since_boot_ms < before_boot_ms)
        end_oldest(list);
}

void cfr_httpd_connections_end_idle(struct cfr_httpd_connections *g, int64_t before_boot_ms)
{
    end_idle(&g->unserved, before_boot_ms);
    end_idle(&g->served, before_boot_ms);
}

int64_t cfr_httpd_connections_oldest(const struct cfr_httpd_connections *g)
{
    int64_t a = g->unserved.oldest != NULL ? g->unserved.oldest->since_boot_ms : INT64_MAX;
    int64_t b = g->served.oldest != NULL ? g->served.oldest->since_boot_ms : INT64_MAX;

    return a < b ? a : b;
}
