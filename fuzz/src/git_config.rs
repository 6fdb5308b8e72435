//! Whatever a git configuration contains, writing down what was read changes nothing in it.

use agent_sandbox::repositories::{parse, render};

pub fn check(bytes: &[u8]) {
    let Ok(settings) = parse(bytes) else {
        return;
    };
    assert_eq!(parse(&render(&settings)).expect("ours is readable"), settings);
}
