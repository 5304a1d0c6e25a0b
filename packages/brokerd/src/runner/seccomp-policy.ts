/**
 * What no box may ask of the kernel, as one list for both sandboxes.
 *
 * A Unix socket under a mount is reached whatever the network namespace, so sockets of that family can't be made, neither by way of
 * io_uring nor as a datagram pair, which could be connected elsewhere afterwards.
 */

/** Address families (argument 0 of socket) that a box may use; without a network they reach its own loopback at most. */
export const SOCKET_FAMILIES = { inet: 2, inet6: 10 } as const;
/** Netlink is for listing interfaces only: protocol (argument 2) 0. */
export const NETLINK = { family: 16, protocol: 0 } as const;
export const UNIX_FAMILY = 1;

/** Socket types (argument 1 of socketpair, these bits) of pairs that stay connected to each other. */
export const SOCKET_TYPE_MASK = 0xf;
export const PAIR_TYPES = { stream: 1, seqpacket: 5 } as const;

/** Set-user-id and set-group-id: a file with them, made in a granted directory, would run as its owner on the host. */
export const SET_ID_BITS = 0o6000;

/** Calls that take a file mode, and which argument it is. */
export const MODE_ARGUMENT = { chmod: 1, fchmod: 1, fchmodat: 2, fchmodat2: 2, creat: 1, mknod: 1, mknodat: 2 } as const;

/** Calls that take a mode only when they make a file: the arguments of flags and mode. */
export const OPEN_ARGUMENTS = { open: { flags: 1, mode: 2 }, openat: { flags: 2, mode: 3 } } as const;
/** O_CREAT and __O_TMPFILE on x86-64 and arm64. */
export const CREATING_FLAGS = 0x40 | 0x400000;

/** Flags of clone that make namespaces. */
export const NAMESPACE_FLAGS = 0x7e020000;

/** ioctl requests that put characters into a terminal. */
export const TERMINAL_INJECTION = { tiocsti: 0x5412, tioclinux: 0x541c } as const;

/** Answered "no such system call", so that programs fall back to a call whose arguments can be seen. */
export const UNAVAILABLE = ["clone3", "openat2", "io_uring_setup", "io_uring_enter", "io_uring_register"] as const;

/** Refused altogether: mounts, namespaces, keys, other processes' memory, and the machine itself. */
export const REFUSED = [
  "acct",
  "add_key",
  "adjtimex",
  "bpf",
  "chroot",
  "clock_adjtime",
  "clock_settime",
  "delete_module",
  "fanotify_init",
  "finit_module",
  "fsconfig",
  "fsmount",
  "fsopen",
  "fspick",
  "init_module",
  "ioperm",
  "iopl",
  "kcmp",
  "kexec_file_load",
  "kexec_load",
  "keyctl",
  "lookup_dcookie",
  "mount",
  "mount_setattr",
  "move_mount",
  "move_pages",
  "name_to_handle_at",
  "open_by_handle_at",
  "open_tree",
  "perf_event_open",
  "pidfd_getfd",
  "pivot_root",
  "process_vm_readv",
  "process_vm_writev",
  "ptrace",
  "quotactl",
  "quotactl_fd",
  "reboot",
  "request_key",
  "setdomainname",
  "sethostname",
  "setns",
  "settimeofday",
  "swapoff",
  "swapon",
  "syslog",
  "umount2",
  "unshare",
  "userfaultfd",
  "vhangup",
] as const;
