//! Privileges, system calls, sockets, terminals.

use super::Place;

#[test]
fn the_kernel_cannot_be_configured() {
    let place = Place::new();
    for script in [
        "exec 3>> /proc/sys/kernel/core_pattern",
        "exec 3>> /proc/sysrq-trigger",
        "exec 3>> /proc/sys/kernel/hostname",
        "exec 3< /etc/shadow && head -c 1 <&3 | grep -q .",
        "exec 3< /proc/kcore && head -c 1 <&3 | grep -q .",
    ] {
        place.fails(script);
    }
}

#[test]
fn there_are_no_capabilities_and_no_more_to_get() {
    let place = Place::new();
    place.prints(
        "awk '/^(Cap|NoNewPrivs|Seccomp:)/ {print $2}' /proc/self/status | uniq | tr '\\n' ' '",
        "0000000000000000 1 2 ",
    );
    place.prints("cat /proc/sys/user/max_user_namespaces", "0\n");
    for script in [
        "unshare -U true",
        "unshare -r true",
        "mount -t tmpfs x /tmp",
        "umount -l .vscode",
        "umount -l /proc",
        "chroot . true",
    ] {
        place.fails(script);
    }
}

#[test]
fn no_file_gets_a_set_user_bit() {
    let place = Place::new();
    place.withstands("cp /bin/true t && chmod u+s t");
    place.withstands("cp /bin/true t && chmod 2755 t");
    place.withstands(
        "/usr/bin/python3 -c 'import os; os.open(\"u\", os.O_CREAT | os.O_WRONLY, 0o4755)'",
    );
    place.works("touch v && chmod 755 v && chmod u+x,g-w v && chmod +t .");
}

#[test]
fn the_network_is_off_and_the_loopback_on() {
    let place = Place::new();
    place.withstands("awk -F: 'NR > 2 {print $1}' /proc/net/dev | grep -v lo");
    place.fails("exec 3<> /dev/tcp/192.0.2.1/80");
    let script = r#"/usr/bin/python3 - <<'END'
import socket
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
server.accept()[0].send(b"hello")
print(client.recv(9).decode())
END"#;
    place.prints(script, "hello\n");
}

#[test]
fn a_shared_network_does_not_bring_the_desktop_along() {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener};
    let name = format!("desktop-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _listener = UnixListener::bind_addr(&address).unwrap();
    let place = Place::with(|confinement| confinement.network = true);
    place.withstands(&format!(
        "/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"\\0{name}\")'"
    ));
}

#[test]
fn other_kinds_of_sockets_do_not_exist() {
    let place = Place::new();
    // AF_PACKET sees other people's traffic, AF_ALG is a door to the kernel, and AF_VSOCK leads
    // to the machine's host whatever the network namespace.
    for family in [17, 38, 40] {
        let script = format!(
            "/usr/bin/python3 -c 'import socket\n\
             try: socket.socket({family}, socket.SOCK_DGRAM)\n\
             except OSError as e: print(e.errno)'"
        );
        place.prints(&script, "97\n");
    }
}

#[test]
fn a_terminal_inside_works_and_typing_into_it_does_not() {
    let place = Place::new();
    place.prints(
        "/usr/bin/python3 -c 'import pty; pty.spawn([\"echo\", \"hi\"])'",
        "hi\r\n",
    );
    place.fails(
        "/usr/bin/python3 -c 'import fcntl, os; m, s = os.openpty(); fcntl.ioctl(s, 0x5412, b\"x\")'",
    );
}
