//! Compiles system call rules into a seccomp filter.
//!
//! Each rule decides one call; calls without a rule are allowed. The kernel caches which calls are
//! always allowed, so that these cost nothing afterwards. To fill the cache it runs the filter once
//! for every call, so the rules form a tree, not a list.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use super::notify::SyscallListener;

/// The decision about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyscallCheck {
    /// Refuse it.
    Refuse,
    /// Refuse it if the argument has any of these bits.
    RefuseBits {
        /// Index of the argument.
        argument: u8,
        /// The bits.
        bits: u32,
    },
    /// Refuse it if two arguments both have any of their bits.
    RefuseBitsWith {
        /// Index of the first argument, and its bits.
        first: (u8, u32),
        /// Index of the second argument, and its bits.
        second: (u8, u32),
    },
    /// Refuse it if the argument has one of these values.
    RefuseValues {
        /// Index of the argument.
        argument: u8,
        /// The values.
        values: &'static [u32],
    },
    /// Refuse it unless the argument has one of these values.
    AllowValues {
        /// Index of the argument.
        argument: u8,
        /// The values.
        values: &'static [u32],
    },
    /// Refuse it unless the arguments match all operands of one alternative.
    AllowOneOf(&'static [&'static [Operand]]),
    /// Let the holder of the [`SyscallListener`] decide and carry out the call itself.
    Notify,
}

/// A condition on the masked bits of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operand {
    /// Index of the argument.
    pub argument: u8,
    /// The bits to compare.
    pub mask: u32,
    /// Their required value.
    pub value: u32,
}

impl Operand {
    /// A condition on all bits of an argument.
    pub const fn is(argument: u8, value: u32) -> Self {
        Self {
            argument,
            mask: u32::MAX,
            value,
        }
    }
}

/// A system call and the decision about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyscallRule {
    /// The number of the call.
    pub call: i64,
    /// The decision.
    pub check: SyscallCheck,
    /// The error if it is refused.
    pub errno: i32,
}

/// The architecture of the call numbers; `None` where there is no filter.
#[cfg(target_arch = "x86_64")]
const MACHINE: Option<u32> = Some(0xC000_003E);
#[cfg(target_arch = "aarch64")]
const MACHINE: Option<u32> = Some(0xC000_00B7);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const MACHINE: Option<u32> = None;

/// Offsets of the call number, the architecture and the low half of an argument in the kernel's
/// data.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const fn argument_at(argument: u8) -> u32 {
    16 + 8 * argument as u32
}

/// BPF instructions, from `linux/bpf_common.h`.
const LOAD: u16 = 0x20;
const RETURN: u16 = 0x06;
const IF_EQUAL: u16 = 0x15;
const IF_GREATER: u16 = 0x25;
const IF_AT_LEAST: u16 = 0x35;
const SKIP: u16 = 0x05;
const IF_BITS: u16 = 0x45;
const KEEP_BITS: u16 = 0x54;

/// A compiled BPF program.
#[derive(Debug, Clone)]
pub struct Filter(Vec<libc::sock_filter>);

impl Filter {
    /// Compiles the filter. Calls with a number above `last` are refused as unknown.
    ///
    /// Returns `None` on architectures whose call numbers are not known here.
    pub fn new(rules: &[SyscallRule], last: u32) -> Option<Self> {
        let machine = MACHINE?;
        let mut program = vec![
            step(LOAD, ARCHITECTURE),
            jump(IF_EQUAL, machine, 1, 0),
            step(RETURN, libc::SECCOMP_RET_KILL_PROCESS),
            step(LOAD, NUMBER),
            // Also catches x32 calls, which have a high bit set.
            jump(IF_GREATER, last, 0, 1),
            step(RETURN, failure(libc::ENOSYS)),
        ];
        let mut decisions = Vec::new();
        for rule in rules {
            // Calls that this architecture lacks have negative numbers.
            if let Ok(call) = u32::try_from(rule.call) {
                let body = body_of(rule);
                decisions.push((call, u8::try_from(body.len()).ok()?, body));
            }
        }
        decisions.sort_by_key(|(call, ..)| *call);
        append_tree(&mut program, &decisions)?;
        Some(Self(program))
    }

    /// Installs the filter on this process and everything that it starts.
    pub fn install(&self) -> io::Result<()> {
        self.install_with(0).map(drop)
    }

    /// Installs the filter on this process and everything that it starts. Calls with
    /// [`SyscallCheck::Notify`] wait for the listener, and fail once it is closed.
    ///
    /// The kernel allows one listener per process, so no other can intercept the calls later.
    #[expect(unsafe_code, reason = "a descriptor comes as a number")]
    pub fn install_with_listener(&self) -> io::Result<SyscallListener> {
        const LISTENER: libc::c_ulong = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
        // Without this flag every signal restarts a pending call; kernels before 5.19 lack it.
        let undisturbed = LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
        let number = match self.install_with(undisturbed) {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                self.install_with(LISTENER)?
            }
            installed => installed?,
        };
        let number = i32::try_from(number).map_err(io::Error::other)?;
        // SAFETY: the kernel has just created it, and it has no other owner.
        Ok(SyscallListener::new(unsafe {
            OwnedFd::from_raw_fd(number)
        }))
    }

    #[expect(unsafe_code, reason = "rustix has no seccomp filters")]
    fn install_with(&self, flags: libc::c_ulong) -> io::Result<i64> {
        let length = u16::try_from(self.0.len()).map_err(io::Error::other)?;
        let program = libc::sock_fprog {
            len: length,
            filter: self.0.as_ptr().cast_mut(),
        };
        // SAFETY: pointer and length are those of the program, which the kernel only reads.
        let result = unsafe {
            libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_SET_MODE_FILTER,
                flags,
                &raw const program,
            )
        };
        super::check(result).map(|()| result)
    }

    /// The program as raw bytes, for another program that installs it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let words = self.0.iter().flat_map(|step| {
            let code = step.code.to_ne_bytes();
            let value = step.k.to_ne_bytes();
            [
                code[0], code[1], step.jt, step.jf, value[0], value[1], value[2], value[3],
            ]
        });
        words.collect()
    }
}

/// A call number, and the length and steps of the body that decides it; every path through the body
/// ends in a decision.
type SyscallDecision = (u32, u8, Vec<libc::sock_filter>);

/// Appends a binary search for the loaded call number among these decisions, which are sorted.
fn append_tree(program: &mut Vec<libc::sock_filter>, decisions: &[SyscallDecision]) -> Option<()> {
    const FEW: usize = 2;
    if decisions.len() <= FEW {
        for (call, length, body) in decisions {
            program.push(jump(IF_EQUAL, *call, 0, *length));
            program.extend(body);
        }
        program.push(step(RETURN, libc::SECCOMP_RET_ALLOW));
        return Some(());
    }
    let (lower, upper) = decisions.split_at(decisions.len() / 2);
    let (middle, ..) = upper.first()?;
    program.push(jump(IF_AT_LEAST, *middle, 0, 1));
    let skip = program.len();
    program.push(step(SKIP, 0));
    append_tree(program, lower)?;
    // An unconditional jump, because a conditional one does not reach far enough.
    program[skip].k = u32::try_from(program.len() - skip - 1).ok()?;
    append_tree(program, upper)
}

fn body_of(rule: &SyscallRule) -> Vec<libc::sock_filter> {
    let allowed = step(RETURN, libc::SECCOMP_RET_ALLOW);
    let failed = step(RETURN, failure(rule.errno));
    let compare = |argument, values: &[u32], if_one, otherwise| {
        let mut body = vec![step(LOAD, argument_at(argument))];
        for value in values {
            body.push(jump(IF_EQUAL, *value, 0, 1));
            body.push(if_one);
        }
        body.push(otherwise);
        body
    };
    match rule.check {
        SyscallCheck::Refuse => vec![failed],
        SyscallCheck::RefuseBits { argument, bits } => vec![
            step(LOAD, argument_at(argument)),
            jump(IF_BITS, bits, 0, 1),
            failed,
            allowed,
        ],
        SyscallCheck::RefuseBitsWith { first, second } => vec![
            step(LOAD, argument_at(first.0)),
            jump(IF_BITS, first.1, 0, 3),
            step(LOAD, argument_at(second.0)),
            jump(IF_BITS, second.1, 0, 1),
            failed,
            allowed,
        ],
        SyscallCheck::RefuseValues { argument, values } => {
            compare(argument, values, failed, allowed)
        }
        SyscallCheck::AllowValues { argument, values } => {
            compare(argument, values, allowed, failed)
        }
        SyscallCheck::AllowOneOf(alternatives) => {
            let mut body: Vec<_> = alternatives
                .iter()
                .flat_map(|operands| steps_of(operands))
                .collect();
            body.push(failed);
            body
        }
        SyscallCheck::Notify => vec![step(RETURN, libc::SECCOMP_RET_USER_NOTIF)],
    }
}

/// Allows the call if all operands match; otherwise continues with the following steps.
fn steps_of(operands: &[Operand]) -> Vec<libc::sock_filter> {
    let mut steps = vec![step(RETURN, libc::SECCOMP_RET_ALLOW)];
    for operand in operands.iter().rev() {
        // The jump skips the remaining steps of this alternative, of which there are few.
        let behind = u8::try_from(steps.len()).unwrap_or(u8::MAX);
        let loaded = [
            step(LOAD, argument_at(operand.argument)),
            step(KEEP_BITS, operand.mask),
            jump(IF_EQUAL, operand.value, 0, behind),
        ];
        steps.splice(0..0, loaded);
    }
    steps
}

fn failure(errno: i32) -> u32 {
    libc::SECCOMP_RET_ERRNO | (errno.unsigned_abs() & libc::SECCOMP_RET_DATA)
}

fn step(code: u16, k: u32) -> libc::sock_filter {
    jump(code, k, 0, 0)
}

fn jump(code: u16, k: u32, jt: u8, jf: u8) -> libc::sock_filter {
    libc::sock_filter { code, jt, jf, k }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &[SyscallRule] = &[
        SyscallRule {
            call: 7,
            check: SyscallCheck::Refuse,
            errno: 1,
        },
        SyscallRule {
            call: 8,
            check: SyscallCheck::RefuseBits {
                argument: 1,
                bits: 0o6000,
            },
            errno: 2,
        },
        SyscallRule {
            call: 9,
            check: SyscallCheck::AllowValues {
                argument: 0,
                values: &[1, 2],
            },
            errno: 3,
        },
        SyscallRule {
            call: 10,
            check: SyscallCheck::RefuseValues {
                argument: 5,
                values: &[4, 6],
            },
            errno: 4,
        },
        SyscallRule {
            call: 11,
            check: SyscallCheck::RefuseBitsWith {
                first: (0, 1),
                second: (1, 2),
            },
            errno: 5,
        },
        SyscallRule {
            call: 12,
            check: SyscallCheck::AllowOneOf(&[
                &[Operand {
                    argument: 1,
                    mask: 0xFF00,
                    value: 0x5400,
                }],
                &[Operand::is(0, 16), Operand::is(2, 0)],
            ]),
            errno: 6,
        },
        SyscallRule {
            call: 13,
            check: SyscallCheck::Notify,
            errno: 7,
        },
    ];

    /// Runs the program as the kernel would.
    fn decide(machine: u32, call: u32, arguments: [u32; 6]) -> u32 {
        let filter = Filter::new(RULES, 400).unwrap();
        let (mut at, mut loaded) = (0, 0);
        loop {
            let step = filter.0[at];
            at += 1;
            let is_met = match step.code {
                LOAD => {
                    loaded = match step.k {
                        NUMBER => call,
                        ARCHITECTURE => machine,
                        offset => arguments[usize::try_from((offset - 16) / 8).unwrap()],
                    };
                    continue;
                }
                RETURN => return step.k,
                IF_EQUAL => loaded == step.k,
                IF_GREATER => loaded > step.k,
                IF_AT_LEAST => loaded >= step.k,
                SKIP => {
                    at += usize::try_from(step.k).unwrap();
                    continue;
                }
                IF_BITS => loaded & step.k != 0,
                KEEP_BITS => {
                    loaded &= step.k;
                    continue;
                }
                other => panic!("{other}"),
            };
            at += usize::from(if is_met { step.jt } else { step.jf });
        }
    }

    #[track_caller]
    fn case(call: u32, arguments: [u32; 6], errno: Option<i32>) {
        let expected = errno.map_or(libc::SECCOMP_RET_ALLOW, failure);
        assert_eq!(decide(MACHINE.unwrap(), call, arguments), expected);
    }

    #[test]
    fn each_rule_decides_its_own_call() {
        case(6, [0; 6], None);
        case(7, [0; 6], Some(1));
        case(8, [0, 0o755, 0, 0, 0, 0], None);
        case(8, [0, 0o4755, 0, 0, 0, 0], Some(2));
        case(9, [2, 0, 0, 0, 0, 0], None);
        case(9, [40, 0, 0, 0, 0, 0], Some(3));
        case(10, [0, 0, 0, 0, 0, 5], None);
        case(10, [0, 0, 0, 0, 0, 6], Some(4));
        case(11, [2, 2, 0, 0, 0, 0], None);
        case(11, [1, 1, 0, 0, 0, 0], None);
        case(11, [1, 3, 0, 0, 0, 0], Some(5));
        case(12, [0, 0x8004_5412, 0, 0, 0, 0], None);
        case(12, [16, 0, 0, 0, 0, 0], None);
        case(12, [16, 0, 9, 0, 0, 0], Some(6));
        case(12, [15, 0x1254, 0, 0, 0, 0], Some(6));
        assert_eq!(
            decide(MACHINE.unwrap(), 13, [0; 6]),
            libc::SECCOMP_RET_USER_NOTIF
        );
    }

    #[test]
    fn unknown_calls_do_not_exist() {
        case(400, [0; 6], None);
        case(401, [0; 6], Some(libc::ENOSYS));
        case(0x4000_0001, [0; 6], Some(libc::ENOSYS));
    }

    #[test]
    fn calls_around_and_between_the_rules_are_allowed() {
        for call in (0..7).chain(14..=400) {
            case(call, [0; 6], None);
        }
    }

    #[test]
    fn another_machine_is_killed() {
        assert_eq!(
            decide(0x4000_0003, 6, [0; 6]),
            libc::SECCOMP_RET_KILL_PROCESS
        );
    }
}
