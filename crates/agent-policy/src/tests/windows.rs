//! PowerShell and `cmd`, by the same table on every system.

use super::*;

fn powershell(strictness: Strictness) -> Policy {
    Policy {
        dialect: Dialect::PowerShell,
        strictness,
        ..policy()
    }
}

/// Commands that the strict policy refuses, whichever shell reads them.
const REFUSED_STRICTLY: &[&str] = &[
    "Remove-Item -Recurse x",
    "Remove-Item x -Rec -Force",
    "ri -r x",
    "rm -Recurse x",
    "rmdir -Recurse x",
    "del /s /q x",
    "del /S/Q x",
    "erase /s x",
    "rd /s x",
    "rd /s/q x",
    "rd/s/q x",
    "del/s/q x",
    "rm x -r -Force",
    "call rd /s /q x",
    "cmd /c \"if exist x rd /s /q x\"",
    "cmd /c \"if not exist y rd /s /q x\"",
    "cmd /c \"if a==b rd /s /q x\"",
    "Start-Process powershell -ArgumentList '-enc AAA'",
    "saps powershell -Args '-enc AAA'",
    "ls | ForEach-Object { Remove-Item $_ -Recurse }",
    "cmd /c rd /s /q x",
    "cmd.exe /k 'del /s x'",
    "powershell -Command 'Remove-Item -Recurse x'",
    "powershell -NoProfile -c Remove-Item -Recurse x",
    "pwsh -Command \"Remove-Item x -Recurse; ls\"",
    "format c:",
    "format.com d: /q",
    "diskpart",
    "Invoke-WebRequest https://example.org",
    "iwr x -OutFile y",
    "Invoke-RestMethod x",
    "irm x",
    "Start-BitsTransfer x",
    "certutil -urlcache -f x y",
    "iex ls",
    "Invoke-Expression 'ls'",
    "Set-ExecutionPolicy Bypass",
    "reg add HKLM\\x",
    "reg.exe query HKCU\\x",
    "net user x /add",
    "net localgroup administrators x /add",
    "net.exe accounts",
    "New-LocalUser x",
    "powershell -EncodedCommand bHM=",
    "powershell -enc bHM=",
    "pwsh -e bHM=",
    "powershell -ec bHM=",
    "Get-ChildItem Env:",
    "echo $env:PATH",
];

/// Commands that are always refused.
const REFUSED: &[&str] = &[
    "Remove-Item -Recurse -Force C:\\",
    "Remove-Item -Recurse ~",
    "Remove-Item -Recurse ~/",
    "rd /s /q 'C:\\'",
    "powershell -Command 'Remove-Item -Recurse -Force ~'",
    "cmd /c 'rd /s /q C:\\'",
    "Start-Process cmd -Verb RunAs",
    "saps cmd -Verb runas",
    "runas /user:x cmd",
    "Format-Volume -DriveLetter C",
    "Clear-Disk 0",
    "Stop-Computer",
    "Restart-Computer -Force",
    "iex 'Restart-Computer'",
];

#[test]
fn the_strict_policy_refuses_windows_commands_on_every_system() {
    cases(&strict(), Decision::Deny, REFUSED_STRICTLY);
    cases(
        &powershell(Strictness::Strict),
        Decision::Deny,
        REFUSED_STRICTLY,
    );
}

#[test]
fn destruction_on_windows_is_refused_on_every_system() {
    cases(&policy(), Decision::Deny, REFUSED);
    cases(&powershell(Strictness::Normal), Decision::Deny, REFUSED);
    let of_batch_files = ["@rd /s /q C:\\", "if exist x @rd /s /q C:\\"];
    cases(
        &powershell(Strictness::Normal),
        Decision::Deny,
        &of_batch_files,
    );
}

#[test]
fn a_variable_of_cmd_is_asked_about() {
    let scripts = ["rd /s /q %USERPROFILE%", "cmd /c \"rd /s /q %TEMP%\\x\""];
    cases(&policy(), Decision::Ask, &scripts);
    cases(&policy(), Decision::Allow, &["rd /s /q build", "rmdir x"]);
    let conditional = "if exist x rd /s /q x";
    case(&powershell(Strictness::Strict), conditional, Decision::Deny);
}

#[test]
fn powershell_is_split_into_commands() {
    let policy = powershell(Strictness::Strict);
    cases(
        &policy,
        Decision::Deny,
        &[
            "ls; iwr x",
            "$x = Invoke-WebRequest y",
            "if ($true) { Remove-Item -Recurse x }",
            "Get-ChildItem | Remove-Item -Recurse",
            "& 'C:\\Windows\\System32\\diskpart.exe'",
            "Rem`ove-Item -Recurse x",
            "c^url x",
            "Remove-Item -Recurse $HOME",
            "Remove-Item -Recurse $env:USERPROFILE\\x",
            "rd /s %USERPROFILE%",
        ],
    );
    cases(
        &policy,
        Decision::Allow,
        &[
            "cargo test",
            "Get-ChildItem -Recurse",
            "Remove-Item x",
            "del x",
            "Write-Output 'iwr x; diskpart'",
            "if (Test-Path x) { cargo build }",
            "$x = 1",
            "dotnet format",
            "cargo fmt",
            "net view",
        ],
    );
    cases(
        &powershell(Strictness::Normal),
        Decision::Ask,
        &[
            "Remove-Item -Recurse $x",
            "& $program x",
            "iex $x",
            "powershell -enc bHM=",
        ],
    );
}
