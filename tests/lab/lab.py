#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/lab/lab.py: runs a program on real libibverbs, in a virtual machine with Soft-RoCE devices.

The machine is QEMU's, emulated (no KVM), with Debian's kernel; the host's files are its files, read
only, so it runs what was built here. Two devices: rxe1 and rxe2, joined by a veth pair.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
MODULES = ("crc32_generic", "virtio_pci", "9p", "9pnet_virtio", "overlay", "rdma_rxe", "ib_uverbs",
           "veth", "sch_netem")
MACHINE = ("-M", "pc", "-accel", "tcg,thread=multi", "-cpu", "Nehalem", "-m", "1024", "-smp", "2",
           "-nodefaults", "-display", "none", "-no-reboot",
           "-device", "isa-debug-exit,iobase=0xf4,iosize=0x04")
KERNEL_LINE = ("console=ttyS0 quiet panic=-1 mitigations=off nokaslr tsc=reliable clocksource=tsc "
               "no_timer_check")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Kernel:
    """Debian's, unpacked into a folder, not installed."""

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
        """Paths, each after those that it needs."""
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


def run(work, command, seconds):
    """(exit status of `command` in the machine, or None where it did not end; what it printed)"""
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
    try:
        subprocess.run(qemu, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        print(f"lab: the machine was ended after {seconds} s", file=sys.stderr)
    status, log = out / "status", out / "log"
    text = log.read_text(errors="replace") if log.exists() else ""
    if not status.exists():
        console = (work / "console").read_text(errors="replace") if (work / "console").exists() else ""
        return None, text + "\nlab: its console said last:\n" + console[-2000:]
    return int(status.read_text()), text


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0],
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog="Example:\n  tests/lab/lab.py build/release/bin/verbs_test")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("build/lab"),
                        help="where the kernel and the results lie (default: %(default)s)")
    parser.add_argument("--seconds", type=int, default=600, help="the machine's time, at most")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="what to run in the machine")
    options = parser.parse_args()
    if not options.command:
        parser.error("nothing to run")
    missing = [tool for tool in ("qemu-system-x86_64", "busybox", "cpio", "modprobe")
               if shutil.which(tool) is None]
    if missing:
        sys.exit(f"lab: {', '.join(missing)} not found; `./dev lab` installs what it needs")
    options.work.mkdir(parents=True, exist_ok=True)
    status, text = run(options.work.resolve(), " ".join(options.command), options.seconds)
    print(text, end="")
    sys.exit(1 if status is None else status)


if __name__ == "__main__":
    main()
