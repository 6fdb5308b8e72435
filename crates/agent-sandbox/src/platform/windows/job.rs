//! A job object: the processes of one command, which the system limits and ends together.
//!
//! A process cannot leave its job, and its children are in it too. The system ends all of them when
//! the last handle is closed, also because this process was killed.

#![expect(unsafe_code, reason = "the calls of the system have no safe form")]

use std::ffi::c_void;
use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::process::Child;
use std::ptr;

use windows_sys::Win32::Foundation::{
    HANDLE, HANDLE_FLAG_INHERIT, INVALID_HANDLE_VALUE, SetHandleInformation,
};
use windows_sys::Win32::System::Console::{
    GetStdHandle, STD_ERROR_HANDLE, STD_INPUT_HANDLE, STD_OUTPUT_HANDLE,
};
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, TH32CS_SNAPTHREAD, THREADENTRY32, Thread32First, Thread32Next,
};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, IsProcessInJob, JOB_OBJECT_LIMIT_ACTIVE_PROCESS,
    JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOB_OBJECT_LIMIT_PROCESS_MEMORY, JOB_OBJECT_LIMIT_PROCESS_TIME, JOB_OBJECT_UILIMIT_DESKTOP,
    JOB_OBJECT_UILIMIT_DISPLAYSETTINGS, JOB_OBJECT_UILIMIT_EXITWINDOWS,
    JOB_OBJECT_UILIMIT_GLOBALATOMS, JOB_OBJECT_UILIMIT_HANDLES, JOB_OBJECT_UILIMIT_READCLIPBOARD,
    JOB_OBJECT_UILIMIT_SYSTEMPARAMETERS, JOB_OBJECT_UILIMIT_WRITECLIPBOARD,
    JOBOBJECT_BASIC_ACCOUNTING_INFORMATION, JOBOBJECT_BASIC_UI_RESTRICTIONS,
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectBasicAccountingInformation,
    JobObjectBasicUIRestrictions, JobObjectExtendedLimitInformation, QueryInformationJobObject,
    SetInformationJobObject, TerminateJobObject,
};
use windows_sys::Win32::System::Threading::{OpenThread, ResumeThread, THREAD_SUSPEND_RESUME};

use crate::ResourceLimits;

/// The exit code of processes that are ended with their job.
const ENDED: u32 = 1;

/// Units of the system's time in a second.
const TICKS: u64 = 10_000_000;

/// A job without processes, or with those of a command.
#[derive(Debug)]
pub(super) struct JobObject(OwnedHandle);

impl JobObject {
    /// Creates one whose processes end with it.
    pub(super) fn new() -> io::Result<Self> {
        // SAFETY: both pointers may be null.
        let handle = unsafe { CreateJobObjectW(ptr::null(), ptr::null()) };
        let job = Self(owned(handle)?);
        job.set_limits(&JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default())?;
        Ok(job)
    }

    /// Limits processes, memory and CPU time. Keeps a child that is started suspended away from the
    /// clipboard, the windows of others and the end of the person's session, unless it is in a job
    /// already because this process is in one: such a child cannot enter a job with these restrictions.
    pub(super) fn limit(&self, limits: &ResourceLimits, child: &Child) -> io::Result<()> {
        let mut wanted = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        let basic = &mut wanted.BasicLimitInformation;
        if let Some(processes) = limits.processes {
            basic.LimitFlags |= JOB_OBJECT_LIMIT_ACTIVE_PROCESS;
            basic.ActiveProcessLimit = u32::try_from(processes).unwrap_or(u32::MAX);
        }
        if let Some(seconds) = limits.cpu_seconds {
            basic.LimitFlags |= JOB_OBJECT_LIMIT_PROCESS_TIME;
            let ticks = seconds.saturating_mul(TICKS);
            basic.PerProcessUserTimeLimit = i64::try_from(ticks).unwrap_or(i64::MAX);
        }
        if let Some(memory) = limits.memory {
            basic.LimitFlags |= JOB_OBJECT_LIMIT_PROCESS_MEMORY;
            wanted.ProcessMemoryLimit = usize::try_from(memory).unwrap_or(usize::MAX);
        }
        self.set_limits(&wanted)?;
        if is_in_a_job(child)? {
            return Ok(());
        }
        let restrictions = JOBOBJECT_BASIC_UI_RESTRICTIONS {
            UIRestrictionsClass: JOB_OBJECT_UILIMIT_DESKTOP
                | JOB_OBJECT_UILIMIT_DISPLAYSETTINGS
                | JOB_OBJECT_UILIMIT_EXITWINDOWS
                | JOB_OBJECT_UILIMIT_GLOBALATOMS
                | JOB_OBJECT_UILIMIT_HANDLES
                | JOB_OBJECT_UILIMIT_READCLIPBOARD
                | JOB_OBJECT_UILIMIT_SYSTEMPARAMETERS
                | JOB_OBJECT_UILIMIT_WRITECLIPBOARD,
        };
        self.set(JobObjectBasicUIRestrictions, &restrictions)
    }

    fn set_limits(&self, limits: &JOBOBJECT_EXTENDED_LIMIT_INFORMATION) -> io::Result<()> {
        let mut limits = *limits;
        // A program that crashes ends; nobody would see the window that asks what to do.
        limits.BasicLimitInformation.LimitFlags |=
            JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION;
        self.set(JobObjectExtendedLimitInformation, &limits)
    }

    fn set<T>(&self, class: i32, information: &T) -> io::Result<()> {
        let size = u32::try_from(size_of::<T>()).unwrap_or_default();
        // SAFETY: the pointer is to a whole value of the type that belongs to the class.
        let done = unsafe {
            SetInformationJobObject(self.raw(), class, ptr::from_ref(information).cast(), size)
        };
        checked(done)
    }

    /// Takes a child in that was started suspended, and lets it run.
    pub(super) fn start(&self, child: &Child) -> io::Result<()> {
        // SAFETY: both handles are open.
        checked(unsafe { AssignProcessToJobObject(self.raw(), child.as_raw_handle()) })?;
        resume(child.id())
    }

    /// How many processes it has.
    pub(super) fn processes(&self) -> io::Result<u32> {
        let mut told = JOBOBJECT_BASIC_ACCOUNTING_INFORMATION::default();
        let size = u32::try_from(size_of_val(&told)).unwrap_or_default();
        // SAFETY: the pointer is to a whole value of the type that belongs to the class.
        checked(unsafe {
            QueryInformationJobObject(
                self.raw(),
                JobObjectBasicAccountingInformation,
                ptr::from_mut(&mut told).cast::<c_void>(),
                size,
                ptr::null_mut(),
            )
        })?;
        Ok(told.ActiveProcesses)
    }

    /// Ends all of its processes.
    pub(super) fn kill(&self) {
        // SAFETY: the handle is open.
        unsafe { TerminateJobObject(self.raw(), ENDED) };
    }

    fn raw(&self) -> HANDLE {
        self.0.as_raw_handle()
    }
}

fn is_in_a_job(child: &Child) -> io::Result<bool> {
    let mut is_in_one = 0;
    // SAFETY: the handle is open, null means any job, and the pointer is to a number.
    checked(unsafe { IsProcessInJob(child.as_raw_handle(), ptr::null_mut(), &raw mut is_in_one) })?;
    Ok(is_in_one != 0)
}

/// Keeps the standard input and output of this process from its children, which would inherit what this
/// process inherited: a command of `agent mcp` could write to the client. `Command` passes on copies.
pub(super) fn keep_standard_handles() {
    for which in [STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, STD_ERROR_HANDLE] {
        // SAFETY: both take numbers. The second fails if there is no such handle or if it is closed, and
        // then nobody inherits it.
        unsafe { SetHandleInformation(GetStdHandle(which), HANDLE_FLAG_INHERIT, 0) };
    }
}

/// Resumes the threads of a process: one, if it was started suspended.
fn resume(process: u32) -> io::Result<()> {
    // SAFETY: it takes numbers.
    let snapshot = owned(unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0) })?;
    let mut entry = THREADENTRY32 {
        dwSize: u32::try_from(size_of::<THREADENTRY32>()).unwrap_or_default(),
        ..THREADENTRY32::default()
    };
    let mut is_resumed = false;
    // SAFETY: the handle is open, and the entry has its size in it.
    let mut has_entry = unsafe { Thread32First(snapshot.as_raw_handle(), &raw mut entry) };
    while has_entry != 0 {
        if entry.th32OwnerProcessID == process {
            // SAFETY: it takes numbers.
            let thread =
                owned(unsafe { OpenThread(THREAD_SUSPEND_RESUME, 0, entry.th32ThreadID) })?;
            // SAFETY: the handle is open.
            is_resumed |= unsafe { ResumeThread(thread.as_raw_handle()) } != u32::MAX;
        }
        // SAFETY: as above.
        has_entry = unsafe { Thread32Next(snapshot.as_raw_handle(), &raw mut entry) };
    }
    if is_resumed {
        Ok(())
    } else {
        Err(io::Error::other("it has no thread"))
    }
}

pub(super) fn owned(handle: HANDLE) -> io::Result<OwnedHandle> {
    if handle.is_null() || handle == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call that returned it gave it to us.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

pub(super) fn checked(done: i32) -> io::Result<()> {
    if done == 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
