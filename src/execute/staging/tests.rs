//! A patch whose files could take each other's temporary names.

use super::super::stage::{patch, stage, update};

#[test]
fn files_whose_hashes_begin_alike_do_not_meet() {
    let mut stage = stage(&[("f158494.txt", "old A\n"), ("f216861.txt", "old B\n")]);
    stage.succeeds(vec![patch(vec![
        update("f158494.txt", &["-old A", "+new A"]),
        update("f216861.txt", &["-old B", "+new B"]),
    ])]);
    assert_eq!(stage.text("f158494.txt"), "new A\n");
    assert_eq!(stage.text("f216861.txt"), "new B\n");
}
