#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/package/package_test.py: tests the packages in a clean Debian 12, in a container that systemd boots.

usage: package_test.py DEBS WORK

DEBS is the folder of the packages. WORK is a folder for the clean Debian, which debootstrap makes once for each set
of dependencies, and for the machine's logs. The test installs the packages with the commands of docs/install.md, runs
them, upgrades them under load, and purges them; inside.sh has the steps in the machine. It needs debootstrap,
systemd-nspawn, lintian, and root with permission to make control groups, mounts and networks, which root in an
ordinary container does not have.
"""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
GUIDE = HERE.parent.parent / "docs" / "install.md"
SUITE = "bookworm"
LATER = "+later"  # appended to the version, for the packages to which the test upgrades
MACHINE_SECONDS = 600
# Packages that the tests in the machine need besides ours. python3-six is missing in the dependencies of
# python3-thrift, which needs it.
TOOLS = ["iproute2", "python3-six", "python3-thrift", "thrift-compiler"]

UNIT = """[Unit]
Description=tests/package/inside.sh
[Service]
Type=exec
ExecStart=/bin/bash /test/inside.sh
StandardOutput=append:/test/log
StandardError=append:/test/log
ExecStopPost=/bin/sh -c 'echo $$EXIT_STATUS >/test/status; systemctl poweroff --no-block 2>/dev/null'
"""


started = time.monotonic()


def step(what):
    print(f"[{time.monotonic() - started:.0f} s] {what}", flush=True)


def output(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def run(*words, **more):
    subprocess.run([str(word) for word in words], check=True, **more)


def field(deb, name):
    return output("dpkg-deb", "--field", deb, name).strip()


def dependencies(debs):
    """Returns the dependencies and recommendations of the packages, except each other, for `apt-get satisfy`."""
    own = {field(deb, "Package") for deb in debs}
    wanted = {part.strip() for deb in debs for name in ("Depends", "Recommends")
              for part in field(deb, name).split(",")}
    return sorted(part for part in wanted if part and part.split()[0] not in own)


def mirror():
    """Returns the address of the Debian mirror that this machine uses."""
    lines = output("apt-get", "indextargets", "--format", "$(CODENAME) $(REPO_URI)",
                   "Created-By: Packages").splitlines()
    found = [line.split()[1] for line in lines if line.split()[0] == SUITE]
    return found[0] if found else "http://deb.debian.org/debian"


def nspawn(root, *words):
    # The container is not registered with this machine's systemd, because this machine need not run systemd.
    return ["systemd-nspawn", "--quiet", f"--directory={root}", "--register=no", "--keep-unit", *words]


def make_root(work, wanted):
    """Makes a clean Debian with all dependencies of the packages, but without the packages; returns its folder."""
    root, stamp = work / "root", work / "root.depends"
    text = "\n".join(wanted)
    if root.is_dir() and stamp.is_file() and stamp.read_text() == text:
        return root
    step(f"debootstrap: a clean Debian in {root}")
    for old in (root, stamp):
        if old.is_dir():
            shutil.rmtree(old)
        old.unlink(missing_ok=True)
    with open(work / "debootstrap.log", "w", encoding="utf-8") as log:
        both = {"stdout": log, "stderr": log}
        run("debootstrap", "--variant=minbase", "--include=systemd,systemd-sysv", SUITE, root, mirror(), **both)
        shutil.rmtree(root / "etc/apt")
        shutil.copytree("/etc/apt", root / "etc/apt", symlinks=True)  # for security updates, and for a proxy
        for words in (["update"], ["satisfy", "-y", "--no-install-recommends", ", ".join(wanted)], ["clean"]):
            run(*nspawn(root, "--pipe", "--resolv-conf=copy-host", "--setenv=DEBIAN_FRONTEND=noninteractive",
                        "apt-get", "-q", *words), **both)
    stamp.write_text(text)
    return root


def add_unit(root):
    """Adds a unit that runs inside.sh when the machine has booted."""
    units = root / "etc/systemd/system"
    (units / "package-test.service").write_text(UNIT)
    wants = units / "multi-user.target.wants" / "package-test.service"
    wants.parent.mkdir(exist_ok=True)
    wants.unlink(missing_ok=True)
    wants.symlink_to("../package-test.service")


def make_later(debs, folder):
    """Writes copies of the packages with a later version to `folder`, for the test of an upgrade."""
    folder.mkdir()
    for deb in debs:
        with tempfile.TemporaryDirectory(prefix="hatrpc-package-") as name:
            run("dpkg-deb", "--raw-extract", deb, f"{name}/deb")
            control = pathlib.Path(name, "deb/DEBIAN/control")
            text = control.read_text()
            version = re.search(r"(?m)^Version: (.*)$", text)[1]
            text = text.replace(f"Version: {version}\n", f"Version: {version}{LATER}\n")
            control.write_text(text.replace(f"(= {version})", f"(= {version}{LATER})"))
            run("dpkg-deb", "--root-owner-group", "-Znone", "--build", f"{name}/deb", folder,
                stdout=subprocess.DEVNULL)


def guide_parts(folder):
    """Writes the code blocks of docs/install.md to files in `folder`: IDL, nodes' configurations and commands."""
    text = GUIDE.read_text(encoding="utf-8")
    blocks = [re.sub(rf"(?m)^{indent}", "", block)
              for indent, block in re.findall(r"(?ms)^( *)```\w*\n(.*?)^ *```$", text)]

    def the_one(what):
        found = [block for block in blocks if re.search(what, block)]
        if len(found) != 1:
            sys.exit(f"package_test: {GUIDE} has {len(found)} blocks with '{what}'; expected one")
        return found[0]

    folder.mkdir()
    (folder / "calculator.thrift").write_text(the_one(r"^service Calculator \{"))
    (folder / "host-a.yaml").write_text(the_one(r"^node: host-a\n"))
    (folder / "host-b.yaml").write_text(the_one(r"^node: host-b\n"))
    (folder / "install.sh").write_text(the_one(r"^apt install \./hatrpcd_"))
    (folder / "secure.sh").write_text(the_one(r"^hatctl certs make tls host-a"))


# --- The machine ----------------------------------------------------------------------------------


def cgroups(name):
    """Returns the path of a control group `name` in each mounted hierarchy that systemd uses.

    These are the hierarchy of cgroup v2 alone, or cgroup v1's hierarchy for systemd and the one of v2 next to it.
    """
    places = [pathlib.Path("/sys/fs/cgroup", place) for place in ("systemd", "unified", "")]
    found = [place / name for place in places if (place / "cgroup.procs").exists()]
    if not found:
        sys.exit("package_test: no control groups for a systemd: neither /sys/fs/cgroup/systemd (v1) nor "
                 "/sys/fs/cgroup (v2) is mounted")
    return found


def check_host():
    """Ends the program with a message if this host cannot boot a machine."""
    missing = [tool for tool in ("debootstrap", "systemd-nspawn", "lintian", "unshare", "ip")
               if shutil.which(tool) is None]
    if missing:
        sys.exit(f"package_test: {', '.join(missing)} not found; `./dev package --test` installs what it needs")
    if os.geteuid() != 0:
        sys.exit("package_test: only root can make and boot a clean Debian; run this test as root")
    for what, words in (("mounts", ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]),
                        ("networks", ["unshare", "--net", "ip", "link", "add", "there", "type", "veth"])):
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"package_test: root has no permission to make {what} here, as in an ordinary container: "
                     f"{' '.join(words)}: {done.stderr.strip()}")
    for group in cgroups(f"hatrpc-package-{os.getpid()}"):
        try:
            group.mkdir()
            group.rmdir()
        except OSError as error:
            sys.exit("package_test: root has no permission to make control groups here, as in an ordinary "
                     f"container: {error}")


def run_machine(root, share):
    """Boots the machine and waits until it ends. Returns whether inside.sh succeeded, and the output of inside.sh."""
    name = f"hatrpc-package-{os.getpid()}"
    groups = cgroups(name)
    for group in groups:
        group.mkdir()

    def enter_groups():
        for group in groups:
            (group / "cgroup.procs").write_text("0")

    command = nspawn(root, "--boot", "--volatile=overlay", "--private-network", f"--machine={name}",
                     f"--bind={share}:/test", "--console=read-only")
    with open(share / "console", "w", encoding="utf-8") as console:
        machine = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=console, stderr=console,
                                   preexec_fn=enter_groups, start_new_session=True)
        try:
            machine.wait(MACHINE_SECONDS)
        except subprocess.TimeoutExpired:
            print(f"package_test: the machine did not end within {MACHINE_SECONDS} s and is killed", file=sys.stderr)
        finally:
            if machine.poll() is None:
                os.killpg(machine.pid, signal.SIGKILL)
                machine.wait()
            for group in groups:
                for inner in sorted(group.glob("**/"), reverse=True):
                    with contextlib.suppress(OSError):
                        inner.rmdir()
    log = share / "log"
    text = log.read_text(errors="replace") if log.exists() else ""
    status = share / "status"
    if not status.exists():
        return False, text + "\npackage_test: the end of the machine's console:\n" + \
            (share / "console").read_text(errors="replace")[-4000:]
    return status.read_text() == "0\n", text


def fill_share(share, debs):
    """Writes the packages and the test's files to the folder `share`, which the machine sees as /test."""
    shutil.rmtree(share, ignore_errors=True)
    (share / "first").mkdir(parents=True)
    for deb in debs:
        shutil.copy(deb, share / "first")
    make_later(debs, share / "later")
    guide_parts(share / "guide")
    for file in (*HERE.glob("*.sh"), HERE / "calculator.py", HERE / "caller.py"):
        shutil.copy(file, share)


def main():
    debs_folder, work = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    debs = sorted(deb for deb in debs_folder.glob("*.deb") if "-dbgsym_" not in deb.name)
    if not debs:
        sys.exit(f"package_test: there are no packages in {debs_folder}; `./dev package` makes them")
    check_host()
    work.mkdir(parents=True, exist_ok=True)
    share = work / "share"

    step("lintian")
    run("lintian", "--allow-root", "--fail-on", "error", "--tag-display-limit", "0", *debs)
    root = make_root(work, dependencies(debs) + TOOLS)
    add_unit(root)
    step("packages of a later version")
    fill_share(share, debs)
    step("the machine")
    went_well, text = run_machine(root, share)
    print(text, end="")
    if not went_well:
        sys.exit(f"package_test: the tests in the machine failed; their logs are in {share}")
    step(f"{len(debs)} packages installed, run, upgraded and purged")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main()
