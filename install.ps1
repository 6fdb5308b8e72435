# Installs `agent` for you alone: no administrator, nothing outside of the directory that you name.
#
#   .\install.ps1 agent-0.1.0-x86_64-pc-windows-gnu.zip      a file that you have
#   .\install.ps1 https://.../agent-0.1.0-....zip            an address
#   .\install.ps1                                            the newest release
#
# The checksum is taken from SHA256SUMS beside the archive; -Sha256 replaces it.
param(
    [string]$Source = "",
    [string]$Bin = "$env:LOCALAPPDATA\Programs\agent",
    [string]$Sha256 = ""
)
$ErrorActionPreference = "Stop"

# Where releases can be had and which is the newest; dist/build writes both in, from
# dist/release-address, which is empty until there is one.
$Releases = ""
$Version = ""

if (-not $Source) {
    if (-not $Releases) { throw "nothing has been published yet: name an archive made by dist/build" }
    $Source = "$Releases/agent-$Version-x86_64-pc-windows-gnu.zip"
}
$name = Split-Path $Source -Leaf
$work = Join-Path ([IO.Path]::GetTempPath()) ([Guid]::NewGuid())
New-Item -ItemType Directory $work | Out-Null
try {
    $archive = Join-Path $work $name
    $sums = Join-Path $work "SHA256SUMS"
    if ($Source -match "^https://") {
        Invoke-WebRequest -UseBasicParsing $Source -OutFile $archive
        $beside = $Source.Substring(0, $Source.Length - $name.Length) + "SHA256SUMS"
        Invoke-WebRequest -UseBasicParsing $beside -OutFile $sums
    } elseif ($Source -match "^\w+://") {
        throw "only https addresses are taken"
    } else {
        Copy-Item $Source $archive
        $beside = Join-Path (Split-Path (Resolve-Path $Source)) "SHA256SUMS"
        if (Test-Path $beside) { Copy-Item $beside $sums }
    }
    if (-not $Sha256 -and (Test-Path $sums)) {
        $line = Get-Content $sums | Where-Object { ($_ -split "\s+\*?", 2)[1] -eq $name }
        if ($line) { $Sha256 = ($line -split "\s+")[0] }
    }
    if (-not $Sha256) { throw "no checksum for ${name}: keep SHA256SUMS beside it, or give -Sha256" }
    if ((Get-FileHash $archive -Algorithm SHA256).Hash -ne $Sha256) {
        throw "the checksum of $name is wrong: nothing was installed"
    }
    Expand-Archive $archive $work
    $program = Get-ChildItem $work -Recurse -Filter agent.exe | Select-Object -First 1
    if (-not $program) { throw "there is no program in $name" }
    & $program.FullName --version | Out-Null
    if ($LASTEXITCODE -ne 0) { throw "the program does not run on this machine" }
    New-Item -ItemType Directory -Force $Bin | Out-Null
    Copy-Item -Force $program.FullName (Join-Path $Bin "agent.exe")
    Write-Host "Installed $(& (Join-Path $Bin 'agent.exe') --version) in $Bin."
    if (($env:PATH -split ";") -notcontains $Bin) {
        Write-Host "Add it to your PATH: [Environment]::SetEnvironmentVariable('Path', `"`$([Environment]::GetEnvironmentVariable('Path', 'User'));$Bin`", 'User')"
    }
    Write-Host "Try it: agent demo. To remove it, delete $Bin."
} finally {
    Remove-Item -Recurse -Force $work
}
