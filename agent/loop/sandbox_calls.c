/* SPDX-License-Identifier: MIT */
/* The list of system calls. One that a newer kernel or library uses in place of another is better named here before it
 * is needed: where it is not, the library goes back to the older one. Those whose arguments are checked are in
 * sandbox.c. The owner and the mode of a file are changed by its descriptor only, so no path leads to another file. */
#include "agent/loop/sandbox_private.h"

#include <sys/syscall.h>

const int cfr_sandbox_calls[] = {
#ifdef SYS_accept
    SYS_accept,
#endif
#ifdef SYS_accept4
    SYS_accept4,
#endif
#ifdef SYS_access
    SYS_access,
#endif
#ifdef SYS_alarm
    SYS_alarm,
#endif
#ifdef SYS_arch_prctl
    SYS_arch_prctl,
#endif
#ifdef SYS_bind
    SYS_bind,
#endif
#ifdef SYS_brk
    SYS_brk,
#endif
#ifdef SYS_capget
    SYS_capget,
#endif
#ifdef SYS_capset
    SYS_capset,
#endif
#ifdef SYS_clock_getres
    SYS_clock_getres,
#endif
#ifdef SYS_clock_gettime
    SYS_clock_gettime,
#endif
#ifdef SYS_clock_nanosleep
    SYS_clock_nanosleep,
#endif
#ifdef SYS_close
    SYS_close,
#endif
#ifdef SYS_close_range
    SYS_close_range,
#endif
#ifdef SYS_connect
    SYS_connect,
#endif
#ifdef SYS_copy_file_range
    SYS_copy_file_range,
#endif
#ifdef SYS_dup
    SYS_dup,
#endif
#ifdef SYS_dup2
    SYS_dup2,
#endif
#ifdef SYS_dup3
    SYS_dup3,
#endif
#ifdef SYS_epoll_create
    SYS_epoll_create,
#endif
#ifdef SYS_epoll_create1
    SYS_epoll_create1,
#endif
#ifdef SYS_epoll_ctl
    SYS_epoll_ctl,
#endif
#ifdef SYS_epoll_pwait
    SYS_epoll_pwait,
#endif
#ifdef SYS_epoll_pwait2
    SYS_epoll_pwait2,
#endif
#ifdef SYS_epoll_wait
    SYS_epoll_wait,
#endif
#ifdef SYS_eventfd
    SYS_eventfd,
#endif
#ifdef SYS_eventfd2
    SYS_eventfd2,
#endif
#ifdef SYS_exit
    SYS_exit,
#endif
#ifdef SYS_exit_group
    SYS_exit_group,
#endif
#ifdef SYS_faccessat
    SYS_faccessat,
#endif
#ifdef SYS_faccessat2
    SYS_faccessat2,
#endif
#ifdef SYS_fadvise64
    SYS_fadvise64,
#endif
#ifdef SYS_fallocate
    SYS_fallocate,
#endif
#ifdef SYS_fchown
    SYS_fchown,
#endif
#ifdef SYS_fcntl
    SYS_fcntl,
#endif
#ifdef SYS_fdatasync
    SYS_fdatasync,
#endif
#ifdef SYS_flock
    SYS_flock,
#endif
#ifdef SYS_fork
    SYS_fork,
#endif
#ifdef SYS_fstat
    SYS_fstat,
#endif
#ifdef SYS_fstatfs
    SYS_fstatfs,
#endif
#ifdef SYS_fsync
    SYS_fsync,
#endif
#ifdef SYS_ftruncate
    SYS_ftruncate,
#endif
#ifdef SYS_futex
    SYS_futex,
#endif
#ifdef SYS_futex_wait
    SYS_futex_wait,
#endif
#ifdef SYS_futex_waitv
    SYS_futex_waitv,
#endif
#ifdef SYS_futex_wake
    SYS_futex_wake,
#endif
#ifdef SYS_futimesat
    SYS_futimesat,
#endif
#ifdef SYS_get_robust_list
    SYS_get_robust_list,
#endif
#ifdef SYS_getcpu
    SYS_getcpu,
#endif
#ifdef SYS_getcwd
    SYS_getcwd,
#endif
#ifdef SYS_getdents
    SYS_getdents,
#endif
#ifdef SYS_getdents64
    SYS_getdents64,
#endif
#ifdef SYS_getegid
    SYS_getegid,
#endif
#ifdef SYS_geteuid
    SYS_geteuid,
#endif
#ifdef SYS_getgid
    SYS_getgid,
#endif
#ifdef SYS_getgroups
    SYS_getgroups,
#endif
#ifdef SYS_getitimer
    SYS_getitimer,
#endif
#ifdef SYS_getpeername
    SYS_getpeername,
#endif
#ifdef SYS_getpgid
    SYS_getpgid,
#endif
#ifdef SYS_getpgrp
    SYS_getpgrp,
#endif
#ifdef SYS_getpid
    SYS_getpid,
#endif
#ifdef SYS_getppid
    SYS_getppid,
#endif
#ifdef SYS_getpriority
    SYS_getpriority,
#endif
#ifdef SYS_getrandom
    SYS_getrandom,
#endif
#ifdef SYS_getresgid
    SYS_getresgid,
#endif
#ifdef SYS_getresuid
    SYS_getresuid,
#endif
#ifdef SYS_getrlimit
    SYS_getrlimit,
#endif
#ifdef SYS_getrusage
    SYS_getrusage,
#endif
#ifdef SYS_getsid
    SYS_getsid,
#endif
#ifdef SYS_getsockname
    SYS_getsockname,
#endif
#ifdef SYS_getsockopt
    SYS_getsockopt,
#endif
#ifdef SYS_gettid
    SYS_gettid,
#endif
#ifdef SYS_gettimeofday
    SYS_gettimeofday,
#endif
#ifdef SYS_getuid
    SYS_getuid,
#endif
#ifdef SYS_inotify_add_watch
    SYS_inotify_add_watch,
#endif
#ifdef SYS_inotify_init
    SYS_inotify_init,
#endif
#ifdef SYS_inotify_init1
    SYS_inotify_init1,
#endif
#ifdef SYS_inotify_rm_watch
    SYS_inotify_rm_watch,
#endif
#ifdef SYS_ioctl
    SYS_ioctl,
#endif
#ifdef SYS_kill
    SYS_kill,
#endif
#ifdef SYS_landlock_add_rule
    SYS_landlock_add_rule,
#endif
#ifdef SYS_landlock_create_ruleset
    SYS_landlock_create_ruleset,
#endif
#ifdef SYS_landlock_restrict_self
    SYS_landlock_restrict_self,
#endif
#ifdef SYS_link
    SYS_link,
#endif
#ifdef SYS_linkat
    SYS_linkat,
#endif
#ifdef SYS_listen
    SYS_listen,
#endif
#ifdef SYS_lseek
    SYS_lseek,
#endif
#ifdef SYS_lstat
    SYS_lstat,
#endif
#ifdef SYS_madvise
    SYS_madvise,
#endif
#ifdef SYS_membarrier
    SYS_membarrier,
#endif
#ifdef SYS_memfd_create
    SYS_memfd_create,
#endif
#ifdef SYS_mincore
    SYS_mincore,
#endif
#ifdef SYS_mkdir
    SYS_mkdir,
#endif
#ifdef SYS_mkdirat
    SYS_mkdirat,
#endif
#ifdef SYS_mlock
    SYS_mlock,
#endif
#ifdef SYS_mlock2
    SYS_mlock2,
#endif
#ifdef SYS_mmap
    SYS_mmap,
#endif
#ifdef SYS_mprotect
    SYS_mprotect,
#endif
#ifdef SYS_mremap
    SYS_mremap,
#endif
#ifdef SYS_msync
    SYS_msync,
#endif
#ifdef SYS_munlock
    SYS_munlock,
#endif
#ifdef SYS_munmap
    SYS_munmap,
#endif
#ifdef SYS_nanosleep
    SYS_nanosleep,
#endif
#ifdef SYS_newfstatat
    SYS_newfstatat,
#endif
#ifdef SYS_openat2
    SYS_openat2,
#endif
#ifdef SYS_pause
    SYS_pause,
#endif
#ifdef SYS_pidfd_open
    SYS_pidfd_open,
#endif
#ifdef SYS_pidfd_send_signal
    SYS_pidfd_send_signal,
#endif
#ifdef SYS_pipe
    SYS_pipe,
#endif
#ifdef SYS_pipe2
    SYS_pipe2,
#endif
#ifdef SYS_poll
    SYS_poll,
#endif
#ifdef SYS_ppoll
    SYS_ppoll,
#endif
#ifdef SYS_prctl
    SYS_prctl,
#endif
#ifdef SYS_pread64
    SYS_pread64,
#endif
#ifdef SYS_preadv
    SYS_preadv,
#endif
#ifdef SYS_preadv2
    SYS_preadv2,
#endif
#ifdef SYS_prlimit64
    SYS_prlimit64,
#endif
#ifdef SYS_pselect6
    SYS_pselect6,
#endif
#ifdef SYS_pwrite64
    SYS_pwrite64,
#endif
#ifdef SYS_pwritev
    SYS_pwritev,
#endif
#ifdef SYS_pwritev2
    SYS_pwritev2,
#endif
#ifdef SYS_read
    SYS_read,
#endif
#ifdef SYS_readlink
    SYS_readlink,
#endif
#ifdef SYS_readlinkat
    SYS_readlinkat,
#endif
#ifdef SYS_readv
    SYS_readv,
#endif
#ifdef SYS_recvfrom
    SYS_recvfrom,
#endif
#ifdef SYS_recvmmsg
    SYS_recvmmsg,
#endif
#ifdef SYS_recvmsg
    SYS_recvmsg,
#endif
#ifdef SYS_rename
    SYS_rename,
#endif
#ifdef SYS_renameat
    SYS_renameat,
#endif
#ifdef SYS_renameat2
    SYS_renameat2,
#endif
#ifdef SYS_restart_syscall
    SYS_restart_syscall,
#endif
#ifdef SYS_rmdir
    SYS_rmdir,
#endif
#ifdef SYS_rseq
    SYS_rseq,
#endif
#ifdef SYS_rt_sigaction
    SYS_rt_sigaction,
#endif
#ifdef SYS_rt_sigpending
    SYS_rt_sigpending,
#endif
#ifdef SYS_rt_sigprocmask
    SYS_rt_sigprocmask,
#endif
#ifdef SYS_rt_sigqueueinfo
    SYS_rt_sigqueueinfo,
#endif
#ifdef SYS_rt_sigreturn
    SYS_rt_sigreturn,
#endif
#ifdef SYS_rt_sigsuspend
    SYS_rt_sigsuspend,
#endif
#ifdef SYS_rt_sigtimedwait
    SYS_rt_sigtimedwait,
#endif
#ifdef SYS_rt_tgsigqueueinfo
    SYS_rt_tgsigqueueinfo,
#endif
#ifdef SYS_sched_get_priority_max
    SYS_sched_get_priority_max,
#endif
#ifdef SYS_sched_get_priority_min
    SYS_sched_get_priority_min,
#endif
#ifdef SYS_sched_getaffinity
    SYS_sched_getaffinity,
#endif
#ifdef SYS_sched_getparam
    SYS_sched_getparam,
#endif
#ifdef SYS_sched_getscheduler
    SYS_sched_getscheduler,
#endif
#ifdef SYS_sched_yield
    SYS_sched_yield,
#endif
#ifdef SYS_seccomp
    SYS_seccomp,
#endif
#ifdef SYS_select
    SYS_select,
#endif
#ifdef SYS_sendfile
    SYS_sendfile,
#endif
#ifdef SYS_sendmmsg
    SYS_sendmmsg,
#endif
#ifdef SYS_sendmsg
    SYS_sendmsg,
#endif
#ifdef SYS_sendto
    SYS_sendto,
#endif
#ifdef SYS_set_robust_list
    SYS_set_robust_list,
#endif
#ifdef SYS_set_tid_address
    SYS_set_tid_address,
#endif
#ifdef SYS_setgid
    SYS_setgid,
#endif
#ifdef SYS_setgroups
    SYS_setgroups,
#endif
#ifdef SYS_setitimer
    SYS_setitimer,
#endif
#ifdef SYS_setpgid
    SYS_setpgid,
#endif
#ifdef SYS_setresgid
    SYS_setresgid,
#endif
#ifdef SYS_setresuid
    SYS_setresuid,
#endif
#ifdef SYS_setrlimit
    SYS_setrlimit,
#endif
#ifdef SYS_setsid
    SYS_setsid,
#endif
#ifdef SYS_setsockopt
    SYS_setsockopt,
#endif
#ifdef SYS_setuid
    SYS_setuid,
#endif
#ifdef SYS_shutdown
    SYS_shutdown,
#endif
#ifdef SYS_sigaltstack
    SYS_sigaltstack,
#endif
#ifdef SYS_signalfd
    SYS_signalfd,
#endif
#ifdef SYS_signalfd4
    SYS_signalfd4,
#endif
#ifdef SYS_socketpair
    SYS_socketpair,
#endif
#ifdef SYS_splice
    SYS_splice,
#endif
#ifdef SYS_stat
    SYS_stat,
#endif
#ifdef SYS_statfs
    SYS_statfs,
#endif
#ifdef SYS_statx
    SYS_statx,
#endif
#ifdef SYS_symlink
    SYS_symlink,
#endif
#ifdef SYS_symlinkat
    SYS_symlinkat,
#endif
#ifdef SYS_sync_file_range
    SYS_sync_file_range,
#endif
#ifdef SYS_sysinfo
    SYS_sysinfo,
#endif
#ifdef SYS_tgkill
    SYS_tgkill,
#endif
#ifdef SYS_time
    SYS_time,
#endif
#ifdef SYS_timerfd_create
    SYS_timerfd_create,
#endif
#ifdef SYS_timerfd_gettime
    SYS_timerfd_gettime,
#endif
#ifdef SYS_timerfd_settime
    SYS_timerfd_settime,
#endif
#ifdef SYS_times
    SYS_times,
#endif
#ifdef SYS_tkill
    SYS_tkill,
#endif
#ifdef SYS_truncate
    SYS_truncate,
#endif
#ifdef SYS_umask
    SYS_umask,
#endif
#ifdef SYS_uname
    SYS_uname,
#endif
#ifdef SYS_unlink
    SYS_unlink,
#endif
#ifdef SYS_unlinkat
    SYS_unlinkat,
#endif
#ifdef SYS_utime
    SYS_utime,
#endif
#ifdef SYS_utimensat
    SYS_utimensat,
#endif
#ifdef SYS_utimes
    SYS_utimes,
#endif
#ifdef SYS_vfork
    SYS_vfork,
#endif
#ifdef SYS_wait4
    SYS_wait4,
#endif
#ifdef SYS_waitid
    SYS_waitid,
#endif
#ifdef SYS_write
    SYS_write,
#endif
#ifdef SYS_writev
    SYS_writev,
#endif
};
const size_t cfr_sandbox_call_count = sizeof cfr_sandbox_calls / sizeof cfr_sandbox_calls[0];
