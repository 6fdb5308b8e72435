//! `agent serve`: the page in the browser.

use std::io::{BufRead, IsTerminal};
use std::process::ExitCode;

use clap::Args;

use super::common::Common;
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::services::open::{self, FirstRun};
use crate::services::run::ContextRequest;
use crate::ui::Ui;
use crate::web::{PageLinks, PageServer};

const EXAMPLES: &str = "\
Examples:
  agent serve
  agent serve --no-open --port 8642

The page can be reached from this machine only, and only with a link that is printed here; each \
link opens it once. Press Enter for another one. Ctrl-C stops the page, and a session that runs in \
it; nothing is lost.";

/// Open a page in the browser that does what the terminal does
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Serve {
    /// Listen at this port of 127.0.0.1 instead of a random one
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Print the link without opening it
    #[arg(long)]
    no_open: bool,
}

impl Serve {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let caller = common.acting_caller(ui)?;
        // Trust is asked about here, and never on the page.
        open::settings(&caller, FirstRun::Look)?;
        let server = PageServer::bind(&caller, self.port)?;
        let links = server.links(String::new());
        tell(&links, common, ui)?;
        let _opened = (!self.no_open).then(|| links.open_browser()).transpose()?;
        serve(server, links, &caller.interrupt, common)
    }
}

/// Begins a session and opens it in the browser (`agent new --web`).
pub(super) fn begin(
    common: &Common,
    ui: &Ui,
    task: String,
    context: ContextRequest,
) -> Result<ExitCode> {
    let caller = common.acting_caller(ui)?;
    open::settings(&caller, FirstRun::Decide)?;
    let server = PageServer::bind(&caller, 0)?;
    let id = server.begin(task, context)?;
    let links = server.links(format!("/s/{id}"));
    tell(&links, common, ui)?;
    let _opened = links.open_browser()?;
    serve(server, links, &caller.interrupt, common)
}

fn serve(
    server: PageServer,
    links: PageLinks,
    interrupt: &Interrupt,
    common: &Common,
) -> Result<ExitCode> {
    if std::io::stdin().is_terminal() {
        listen_for_enter(links, common.clone());
    }
    server.run(interrupt).map(|()| ExitCode::SUCCESS)
}

/// Prints a link that opens the page.
fn tell(links: &PageLinks, common: &Common, ui: &Ui) -> Result<()> {
    let link = links.link()?;
    if common.json {
        ui.data(&serde_json::json!({ "address": links.address(), "link": link }));
    } else {
        ui.say(&format!(
            "The page: {link}\nThe link opens it once; Enter prints another one, Ctrl-C stops."
        ));
    }
    Ok(())
}

/// Every Enter prints another link.
fn listen_for_enter(links: PageLinks, common: Common) {
    std::thread::spawn(move || {
        let ui = common.ui();
        for line in std::io::stdin().lock().lines() {
            if line.is_err() || tell(&links, &common, &ui).is_err() {
                return;
            }
        }
    });
}
