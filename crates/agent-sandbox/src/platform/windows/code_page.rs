//! Text of programs that do not print UTF-8.

#![expect(unsafe_code, reason = "the calls of the system have no safe form")]

use std::ptr;

use windows_sys::Win32::Globalization::{GetOEMCP, MultiByteToWideChar};

/// Text in the code page that consoles have on this machine; `None` if it is none.
pub fn console_text(bytes: &[u8]) -> Option<String> {
    let length = i32::try_from(bytes.len())
        .ok()
        .filter(|length| *length > 0)?;
    // SAFETY: it takes nothing.
    let page = unsafe { GetOEMCP() };
    // SAFETY: the pointer is to so many bytes; without room it tells how much it takes.
    let room = unsafe { MultiByteToWideChar(page, 0, bytes.as_ptr(), length, ptr::null_mut(), 0) };
    let mut wide = vec![0; usize::try_from(room).ok().filter(|room| *room > 0)?];
    // SAFETY: the pointers are to so many bytes, and to so many places.
    let written =
        unsafe { MultiByteToWideChar(page, 0, bytes.as_ptr(), length, wide.as_mut_ptr(), room) };
    wide.truncate(usize::try_from(written).ok()?);
    Some(String::from_utf16_lossy(&wide))
}
