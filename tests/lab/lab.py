#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/lab/lab.py: runs a program on real libibverbs, in a virtual machine with Soft-RoCE devices.

QEMU emulates the machine, without KVM. The machine has Debian's kernel, and sees the host's files read-only, so that
it runs the programs that were built on the host. It has two devices, rxe1 and rxe2, on the ends of a veth pair,
and two NUMA nodes, each with one core.

A machine can hang, in the emulator or in the kernel module rdma_rxe. A machine that hangs is killed, its tasks and its
console are printed, and the whole command is run once more; `./dev test` counts this as `retried`.
"""

import argparse
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time

HERE = pathlib.Path(__file__).resolve().parent
MODULES = ("crc32_generic", "virtio_pci", "9p", "9pnet_virtio", "overlay", "rdma_rxe", "ib_uverbs",
           "veth", "sch_netem")
MACHINE = ("-M", "pc", "-accel", "tcg,thread=multi", "-cpu", "Nehalem", "-m", "1024", "-smp", "2",
           *(word for node in "01" for word in (
               "-object", f"memory-backend-ram,id=memory{node},size=512M",
               "-numa", f"node,nodeid={node},cpus={node},memdev=memory{node}")),
           "-nodefaults", "-display", "none", "-no-reboot",
           "-device", "isa-debug-exit,iobase=0xf4,iosize=0x04")
KERNEL_LINE = ("console=ttyS0 quiet panic=-1 mitigations=off nokaslr tsc=reliable clocksource=tsc "
               "no_timer_check")

# A machine counts as hanging if it prints nothing for this time, in seconds. A single test waits for up to 120 s.
SILENCE = 240
# The time of all programs of `./dev test` together, in seconds: three times what they took on two idle cores, or more.
SECONDS = 2400


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Kernel:
    """Debian's kernel, unpacked into a folder and not installed."""

    def __init__(self, folder):
        self.folder = folder
        if not list(folder.glob("boot/vmlinuz-*")):
            self.unpack()
        self.image = next(folder.glob("boot/vmlinuz-*"))
        self.version = self.image.name.removeprefix("vmlinuz-")

    def unpack(self):
        print("lab: unpacking Debian's kernel", flush=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        depends = output("apt-cache", "depends", "linux-image-amd64")
        package = re.search(r"Depends: (linux-image-\S+)", depends)[1]
        with tempfile.TemporaryDirectory(prefix="hatrpc-lab-") as name:
            subprocess.run(["apt-get", "-o", "APT::Sandbox::User=root", "download", "-qq", package], cwd=name, check=True)
            archive = next(pathlib.Path(name).glob("*.deb"))
            subprocess.run(["dpkg-deb", "-x", archive, self.folder], check=True)
        version = next(self.folder.glob("lib/modules/*")).name
        subprocess.run(["depmod", "-b", self.folder, version], check=True)

    def module_files(self):
        """Returns the paths of the kernel modules, each after the modules on which it depends."""
        files = []
        for module in MODULES:
            lines = output("modprobe", "-d", self.folder, "-S", self.version, "--show-depends",
                           module).splitlines()
            for line in lines:
                words = line.split()
                if words[0] == "insmod" and words[1] not in files:
                    files.append(words[1])
        return files


def make_initramfs(kernel, file):
    with tempfile.TemporaryDirectory(prefix="hatrpc-lab-") as name:
        root = pathlib.Path(name)
        for folder in ("bin", "proc", "sys", "dev", "layer", "modules"):
            (root / folder).mkdir()
        shutil.copy(shutil.which("busybox"), root / "bin")
        shutil.copy(HERE / "init", root / "init")
        os.chmod(root / "init", 0o755)
        order = []
        for path in kernel.module_files():
            order.append(pathlib.Path(path).name)
            subprocess.run(["objcopy", "--strip-debug", path, root / "modules" / order[-1]],
                           check=True)
        (root / "modules" / "order").write_text("\n".join(order) + "\n")
        paths = "\n".join(str(p.relative_to(root)) for p in sorted(root.rglob("*")))
        with open(file, "wb") as out:
            subprocess.run(["cpio", "--quiet", "-H", "newc", "-o"], cwd=root, input=paths.encode(),
                           stdout=out, check=True)


@dataclasses.dataclass
class Ended:
    status: int | None  # the command's exit status; None: the machine ended before the command, or was killed
    text: str


def run(work, command, seconds):
    """Runs `command` in a new machine, for at most `seconds`; returns its exit status and output."""
    kernel = Kernel(work / "kernel")
    initramfs = work / f"initramfs-{kernel.version}"
    make_initramfs(kernel, initramfs)
    out = work / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    (out / "run").write_text(f"set -e\ncd {os.getcwd()}\nsource {HERE}/devices.sh\n{command}\n")
    qemu = ["qemu-system-x86_64", *MACHINE, "-serial", f"file:{work}/console",
            "-kernel", kernel.image, "-initrd", initramfs, "-append", KERNEL_LINE,
            "-virtfs", "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap",
            "-virtfs", f"local,path={out},mount_tag=out,security_model=none"]
    (out / "log").touch()
    stood_still = watch(subprocess.Popen(qemu), out / "log", seconds)
    status, text = out / "status", (out / "log").read_text(errors="replace")
    if status.exists():
        return Ended(int(status.read_text()), text)
    for name, file in (("its tasks", out / "tasks"), ("the last that its console said", work / "console")):
        if file.exists():
            text += f"\nlab: {name}:\n{file.read_text(errors='replace')[-6000:]}"
    return Ended(None, text + f"\nlab: {stood_still or 'the machine ended without a result'}\n")


def watch(machine, log, seconds):
    """Waits until the machine ends. Returns "", or a sentence about a machine that was killed because it hung."""
    began = grew = time.monotonic()
    size = 0
    try:
        while machine.poll() is None:
            time.sleep(0.2)
            now = time.monotonic()
            if log.stat().st_size != size:
                size, grew = log.stat().st_size, now
            if now - grew > SILENCE or now - began > seconds:
                return f"the machine was killed after {now - began:.0f} s; its last line is {now - grew:.0f} s old"
        return ""
    finally:
        machine.kill()  # after any error too; does nothing if the machine has ended
        machine.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0],
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog="Example:\n  tests/lab/lab.py build/release/bin/verbs_test")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("build/lab"),
                        help="where the kernel and the results lie (default: %(default)s)")
    parser.add_argument("--seconds", type=int, default=SECONDS, help="the machine's time, at most (default: %(default)s)")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="what to run in the machine")
    options = parser.parse_args()
    if not options.command:
        parser.error("nothing to run")
    missing = [tool for tool in ("qemu-system-x86_64", "busybox", "cpio", "modprobe")
               if shutil.which(tool) is None]
    if missing:
        sys.exit(f"lab: {', '.join(missing)} not found; `./dev lab` installs what it needs")
    options.work.mkdir(parents=True, exist_ok=True)
    arguments = options.work.resolve(), " ".join(options.command), options.seconds
    ended = run(*arguments)
    if ended.status is None:
        print("lab: the first machine did not come to its end. What it left:")
        print(textwrap.indent(ended.text, "  | ", lambda line: True))
        print("[ ONCE MORE ] the whole machine (0 ms)", flush=True)
        ended = run(*arguments)
    print(ended.text, end="")
    sys.exit(1 if ended.status is None else ended.status)


if __name__ == "__main__":
    main()
