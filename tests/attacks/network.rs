use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use agent::runner::RunEnd;

use crate::place::Plain::{Always, ForRoot};
use crate::place::{Place, command};

fn connect(address: &str) -> String {
    format!("PYTHON 'import socket; socket.create_connection({address}, 3)'")
}

#[test]
fn no_listener_outside_is_reached() {
    let place = Place::new();
    let four = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = four.local_addr().unwrap().port();
    let shell = format!("exec 3< /dev/tcp/127.0.0.1/{port}");
    let any = connect(&format!("(\"0.0.0.0\", {port})"));
    place.withstands(&[
        (Always, &connect(&format!("(\"127.0.0.1\", {port})"))),
        (Always, &any),
        (Always, &shell),
    ]);
    if let Ok(six) = TcpListener::bind("[::1]:0") {
        let port = six.local_addr().unwrap().port();
        place.withstands(&[(Always, &connect(&format!("(\"::1\", {port})")))]);
    } else {
        crate::place::skipped("IPv6", "this machine has none");
    }
}

#[test]
fn no_datagram_gets_out() {
    let place = Place::new();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_nonblocking(true).unwrap();
    let port = socket.local_addr().unwrap().port();
    // A question to a resolver, as data is carried out where only names are looked up.
    let script = place.filled(&format!(
        "PYTHON 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b\"secret.example.org\", (\"127.0.0.1\", {port}))'"
    ));
    place.apply(&command(&script));
    let mut buffer = [0; 100];
    let nothing = socket.recv(&mut buffer).unwrap_err();
    assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
    assert_eq!(place.plain(&script).end, RunEnd::Exited(0));
    assert_eq!(socket.recv(&mut buffer).unwrap(), 18);
}

#[test]
fn names_are_not_looked_up() {
    let place = Place::new();
    for script in [
        "getent ahosts example.org",
        "PYTHON 'import socket; socket.gethostbyname(\"example.org\")'",
    ] {
        place
            .apply(&command(&place.filled(script)))
            .all(1, "failed");
    }
    // The counterpart needs no network: a name that the machine itself knows is found.
    assert_eq!(
        place.plain("getent ahosts localhost").end,
        RunEnd::Exited(0)
    );
}

#[test]
fn no_local_socket_outside_is_reached() {
    let place = Place::new();
    let path = place.outside().parent().unwrap().join("socket");
    let _by_path = UnixListener::bind(&path).unwrap();
    let name = format!("desktop-{}", std::process::id());
    let _by_name =
        UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let unix = |address: &str| {
        format!("PYTHON 'import socket; socket.socket(socket.AF_UNIX).connect(\"{address}\")'")
    };
    let (by_path, by_name) = (unix(path.to_str().unwrap()), unix(&format!("\\0{name}")));
    place.withstands(&[(Always, &by_path), (Always, &by_name)]);
    // A network that was granted does not bring the desktop along.
    place.withstands_with(
        &["--network", "on"],
        &[(Always, &by_path), (Always, &by_name)],
    );
    if crate::place::is_root() {
        let path = format!("/run/attack-{}", std::process::id());
        let _listener = UnixListener::bind(&path).unwrap();
        place.withstands(&[(Always, &unix(&path))]);
        std::fs::remove_file(path).unwrap();
    } else {
        crate::place::skipped("a socket in /run", "only root can make one");
    }
}

#[test]
fn other_families_of_sockets_do_not_exist() {
    let place = Place::new();
    let open = |family: u32, kind: u32, protocol: u32| {
        format!("PYTHON 'import socket; socket.socket({family}, {kind}, {protocol})'")
    };
    // The counterparts of those whose family may be missing in this kernel: another number than
    // that of the filter, or success.
    let differs = |family: u32, kind: u32| {
        format!(
            "PYTHON 'import socket, sys\ntry: socket.socket({family}, {kind})\nexcept OSError as e: sys.exit(e.errno == 97 and \"filtered\" or 0)'"
        )
    };
    place.withstands(&[
        (ForRoot, &open(17, 3, 0x0300)),
        (ForRoot, &open(2, 3, 1)),
        (ForRoot, &open(2, 3, 255)),
        (ForRoot, &differs(17, 2)),
    ]);
    for family in [38, 40, 21, 30, 31, 44] {
        let script = place.filled(&format!(
            "PYTHON 'import socket\ntry: socket.socket({family}, 2); print(\"open\")\nexcept OSError as e: print(e.errno)'"
        ));
        let applied = place.apply(&command(&script));
        assert_eq!(
            applied.rows[0]["detail"], "97\n",
            "{family}: {}",
            applied.text
        );
    }
}

#[test]
fn only_the_loopback_is_there_and_it_works() {
    let place = Place::new();
    place.withstands(&[
        (
            Always,
            "awk -F: 'NR > 2 {print $1}' /proc/net/dev | grep -qv lo",
        ),
        (
            Always,
            "PYTHON 'import socket, sys; sys.exit(len(socket.if_nameindex()) < 2)'",
        ),
    ]);
    let server = "PYTHON 'import socket\ns = socket.create_server((\"127.0.0.1\", 0))\nc = socket.create_connection(s.getsockname())\ns.accept()[0].send(b\"hello\")\nprint(c.recv(9).decode())'";
    let applied = place.apply(&command(&place.filled(server)));
    assert_eq!(applied.rows[0]["detail"], "hello\n", "{}", applied.text);
}
