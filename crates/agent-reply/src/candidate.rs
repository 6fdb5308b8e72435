//! Candidates: the findings that recognisers hand to the arbiter.
//!
//! A recogniser of a dialect is a pure function from the lines of a reply to a `BlockCandidate`: the
//! lines that it takes, what it asks for, and how certain its end is. It knows no other recogniser.
//! The walk of `scan` turns each into a `ReplyOffer`, with what only the walk knows of its
//! surroundings; the recognisers of tags, remarks and made-up results (`recognise`) make a
//! `ReplyOffer` themselves. The arbiter sees nothing but offers.

use std::borrow::Cow;
use std::ops::Range;

use agent_protocol::{Command, EndMark};

use crate::carried_out::ShownWork;
use crate::tags::Name;

/// A stretch of a reply in one of the dialects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BlockCandidate {
    /// Its lines, from 0, half open, with the fences and the file name that belong to it.
    pub(super) span: Range<usize>,
    /// Its commands and problems, in order.
    pub(super) items: Vec<CandidateItem>,
    pub(super) certainty: BlockCertainty,
}

/// How certain the end of a candidate is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockCertainty {
    /// It has an end of its own.
    Whole,
    /// It ran into the end of the text, so it may be cut off.
    Open,
}

/// One command of a candidate, or what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CandidateItem {
    Command(Command),
    Problem(BlockTrouble),
}

/// A message about a command or block that cannot be used, and a hint how to write it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BlockTrouble {
    pub(super) command: Option<&'static str>,
    pub(super) message: String,
    pub(super) hint: String,
}

impl BlockTrouble {
    pub(super) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            command: None,
            message: message.into(),
            hint: hint.into(),
        }
    }

    /// Names the command that it is about.
    pub(super) fn of(self, command: impl Into<Option<&'static str>>) -> Self {
        let command = command.into();
        Self { command, ..self }
    }
}

impl CandidateItem {
    /// A command, or what is wrong with one of this name.
    pub(super) fn of(command: &'static str, read: Result<Command, BlockTrouble>) -> Self {
        match read {
            Ok(command) => Self::Command(command),
            Err(trouble) => Self::Problem(trouble.of(command)),
        }
    }

    /// A few words that tell it from its neighbours.
    fn subject(&self) -> Option<String> {
        match self {
            Self::Command(command) => Some(crate::subject(command)),
            Self::Problem(trouble) => trouble.command.map(str::to_owned),
        }
    }
}

impl BlockCertainty {
    pub(super) fn open_if(is_open: bool) -> Self {
        if is_open { Self::Open } else { Self::Whole }
    }
}

impl BlockCandidate {
    /// One that takes these lines and has an end of its own.
    pub(super) fn whole(span: Range<usize>, items: Vec<CandidateItem>) -> Self {
        Self {
            span,
            items,
            certainty: BlockCertainty::Whole,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.certainty == BlockCertainty::Open
    }

    /// Returns true if nothing is wrong with any of its items.
    pub(super) fn is_sound(&self) -> bool {
        let is_command = |item: &CandidateItem| matches!(item, CandidateItem::Command(_));
        self.items.iter().all(is_command)
    }

    /// A few words that tell its first command from others.
    pub(super) fn subject(&self) -> String {
        let named = self.items.iter().find_map(CandidateItem::subject);
        named.unwrap_or_else(|| "an edit".to_owned())
    }

    /// The candidate in a text that has so many more lines above it.
    pub(super) fn below(mut self, above: usize) -> Self {
        self.span = self.span.start + above..self.span.end + above;
        self
    }
}

/// A candidate, or a remark, as the walk met it.
#[derive(Debug)]
pub(super) struct ReplyOffer {
    /// The line that its issues name.
    pub(super) line: usize,
    /// The lines that are not prose; empty for a remark about lines that stay prose.
    pub(super) span: Range<usize>,
    pub(super) items: Vec<CandidateItem>,
    /// Issues beside the items, which fail nothing.
    pub(super) notes: Vec<BlockTrouble>,
    pub(super) repairs: Vec<RepairNote>,
    pub(super) standing: Standing,
    pub(super) source: OfferSource,
    /// The model presents the lines around it as results: what changes or runs something is not
    /// done there.
    pub(super) is_in_results: bool,
}

/// A repair that belongs to one place of a reply.
#[derive(Debug)]
pub(super) struct RepairNote {
    pub(super) what: Cow<'static, str>,
    pub(super) count: usize,
    pub(super) in_body: bool,
}

/// How far an offer may be carried out.
#[derive(Debug)]
pub(super) enum Standing {
    /// As it says.
    Sound,
    /// The reply ends inside of it; the words name the command.
    CutOff(String),
    /// It seems to be only talked about.
    Doubted(DoubtedMeaning),
}

/// The part of the reply that an offer comes from.
#[derive(Debug)]
pub(super) enum OfferSource {
    /// A command in our own tags; a closing tag without a mark ended the body, if it is given.
    Tag { body: BodyEnd, runs: bool },
    /// A block of another dialect.
    Dialect,
    /// A remark, or something to leave out.
    Remark,
    /// Results that the model made up; the arbiter tells it once.
    Invention,
    /// A tag that does not count where it stands, perhaps with the body that was meant for it.
    Misplaced { body: BodyEnd },
    /// The end mark, with the line of the mark above it if text stands between them.
    End { mark: EndMark, above: Option<usize> },
    /// A closing tag that shows that a body went on: nothing from the line on counts.
    Stray { name: Name, first: Option<usize> },
    /// The reply was cut and goes on from this line once more.
    Restart { first: usize },
}

/// A change of the walk's memory of bodies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BodyEnd {
    Unchanged,
    Forgotten(Name),
    /// A closing tag without a mark ended it: it may have been the body's own.
    Unmarked(Name, EndedBody),
}

/// A command that a closing tag without a mark ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EndedBody {
    /// The first command of its name that may as well go on to the end of this one: words stand
    /// between them, which may be those of a file.
    pub(super) first: usize,
    pub(super) lines: Range<usize>,
}

/// The command that doubtful words stand for.
#[derive(Debug)]
pub(super) enum DoubtedMeaning {
    /// Nothing that could be done.
    Nothing,
    /// Certainly to be done.
    Certain,
    Command(Command),
    /// Some command of this name.
    Named(Name),
    /// Work that is shown without a command.
    Shown(ShownWork),
    /// A command of this name, announced with these words if one of them follows.
    Announced(Name, String),
}

impl DoubtedMeaning {
    /// A command of this name, if the words on the line of its tag do not announce one that follows.
    pub(super) fn announced(name: Name, words: &str) -> Self {
        const MAX_CHARS: usize = 400;
        Self::Announced(name, words.chars().take(MAX_CHARS).collect())
    }
}

impl ReplyOffer {
    /// An offer that takes these lines and asks for nothing yet.
    pub(super) fn new(span: Range<usize>, source: OfferSource) -> Self {
        Self {
            line: span.start,
            span,
            items: Vec::new(),
            notes: Vec::new(),
            repairs: Vec::new(),
            standing: Standing::Sound,
            source,
            is_in_results: false,
        }
    }

    /// A remark about a line, which stays prose.
    pub(super) fn remark(line: usize) -> Self {
        Self::new(line..line, OfferSource::Remark)
    }

    /// A line that pretends to be results.
    pub(super) fn invention(line: usize) -> Self {
        Self::new(line..line, OfferSource::Invention)
    }

    /// Lines that take nothing with them but themselves.
    pub(super) fn aside(span: Range<usize>) -> Self {
        Self::new(span, OfferSource::Remark)
    }

    /// A remark about work on a line that is shown without a command.
    pub(super) fn shown(line: usize, trouble: BlockTrouble, work: ShownWork) -> Self {
        let offer = Self::remark(line).problem(trouble);
        offer.doubted(DoubtedMeaning::Shown(work))
    }

    /// Adds a command that cannot be used.
    pub(super) fn problem(mut self, trouble: BlockTrouble) -> Self {
        self.items.push(CandidateItem::Problem(trouble));
        self
    }

    /// Adds an issue that is no malformed command.
    pub(super) fn note(mut self, trouble: BlockTrouble) -> Self {
        self.notes.push(trouble);
        self
    }

    pub(super) fn repaired(
        mut self,
        what: impl Into<Cow<'static, str>>,
        count: usize,
        in_body: bool,
    ) -> Self {
        let what = what.into();
        self.repairs.push(RepairNote {
            what,
            count,
            in_body,
        });
        self
    }

    /// Tells of a repair before those of the body.
    pub(super) fn first_repaired(self, what: String, in_body: bool) -> Self {
        let mut told = self.repaired(what, 1, in_body);
        told.repairs.rotate_right(1);
        told
    }

    pub(super) fn cut_off(mut self, what: impl Into<String>) -> Self {
        self.standing = Standing::CutOff(what.into());
        self
    }

    pub(super) fn doubted(mut self, meant: DoubtedMeaning) -> Self {
        self.standing = Standing::Doubted(meant);
        self
    }
}
