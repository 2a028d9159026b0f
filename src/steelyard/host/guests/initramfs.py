"""The first file system of a guest: busybox, a few modules, and a script that starts the image.

Packed as cpio's new ASCII format (Linux: Documentation/driver-api/early-userspace/buffer-format.rst).
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

from steelyard.host.guests.kernels import Kernel, modules_of

# disks on PCI, and the format of the image
_MODULES = ("virtio_pci", "virtio_blk", "ext4")
FACT = "STEELYARD"
PROBE = "steelyard.probe"
SCRATCH = "/scratch"  # the only writable folder of a guest, in memory

# the guest reports its facts first: the image may fail to start
_INIT = f"""#!/bin/busybox sh
export PATH=/bin
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tracefs trace /sys/kernel/tracing
mkdir /dev/shm && mount -t tmpfs -o mode=1777 shm /dev/shm
for module in /modules/*; do insmod $module; done
echo "{FACT} release $(uname -r)"
echo "{FACT} build $(uname -v)"
echo "{FACT} command_line $(cat /proc/cmdline)"
echo "{FACT} clock_source $(cat /sys/devices/system/clocksource/clocksource0/current_clocksource)"
echo "{FACT} transparent_huge_pages $(cat /sys/kernel/mm/transparent_hugepage/enabled)"
mount -t debugfs debug /sys/kernel/debug && \
  echo "{FACT} preemption $(cat /sys/kernel/debug/sched/preempt)"
if ! grep -q {PROBE} /proc/cmdline; then
  mount -t ext4 -o ro /dev/vda /root || echo "{FACT} failed the image could not be mounted"
  mount -t tmpfs -o mode=1777 scratch /root{SCRATCH}
  for part in proc sys dev; do mount --move /$part /root/$part; done
  chroot /root /guest
fi
poweroff -f
"""


def initramfs(kernel: Kernel, busybox: Path) -> bytes:
    """An archive that the kernel unpacks and starts. Raises InputError for a missing module."""
    folders = ("bin", "dev", "proc", "sys", "root", "modules")
    modules = modules_of(kernel, _MODULES)
    entries = [
        *((name, stat.S_IFDIR | 0o755, b"") for name in folders),
        ("bin/busybox", stat.S_IFREG | 0o755, busybox.read_bytes()),
        ("init", stat.S_IFREG | 0o755, _INIT.encode()),
        *(
            (f"modules/{place:02}-{name}.ko", stat.S_IFREG | 0o644, content)
            for place, (name, content) in enumerate(modules)
        ),
        ("TRAILER!!!", 0, b""),
    ]
    return b"".join(part for number, entry in enumerate(entries, start=1) for part in _packed(number, *entry))


def _packed(number: int, name: str, mode: int, content: bytes) -> Iterator[bytes]:
    # inode, mode, uid, gid, links, mtime, size, device and special device (major, minor), name, checksum
    fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
    for part in (head, content):
        yield part + b"\0" * (-len(part) % 4)
