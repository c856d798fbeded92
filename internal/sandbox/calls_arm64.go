package sandbox

import "golang.org/x/sys/unix"

const auditArch uint32 = unix.AUDIT_ARCH_AARCH64

// allowedHere lists calls that only arm64 has or that have another name there.
var allowedHere = []uint32{unix.SYS_FSTATAT, unix.SYS_RENAMEAT}
