//! Words that speak against carrying out what they stand beside, in the languages of most chats.
//!
//! ```text
//! refusal   := speaker negation doing ( pointer | end )      do not apply this; what I did not do
//!            | pointer negation passive                      this should not be applied
//!            | rejected pointer | which I rejected           decided against it
//!            | pointer being wrong | negation pointer        this would be wrong; not this
//!            | ( the | a | my ) wrong noun [ being ]         the naive version would be
//!            | anything ( comma | bracket ) wrong            tempting, but wrong
//! quotation := doing pointer with a word for an earlier time in the previous round I sent this
//! ```
//!
//! A pointer is a word for the edit itself: `this`, `it`, `the following`, `this change`. Words about the
//! code have none (`the tests never run the migration twice`, `I removed the check that was rejected`),
//! and a sentence that says what is done now (`so I remove it`) leads to that.

use crate::example::WordsAbove;
use crate::line::{begins_with, ends_with_colon, has_word};

/// The words of one language; stems begin a word.
struct SpokenLanguage {
    pointers: &'static str,
    /// Words for an edit as a whole.
    nouns: &'static str,
    /// Words before an order or a negation.
    speakers: &'static str,
    negations: &'static str,
    /// Stems of verbs that carry an edit out.
    doing: &'static str,
    /// Stems of verbs that give one up.
    rejected: &'static str,
    /// Words that call one wrong.
    wrong: &'static str,
    /// Words between an edit and such a word. None is of the past: `this was wrong` leads to its
    /// correction.
    being: &'static str,
    /// Words for an earlier time.
    earlier: &'static str,
    /// Stems of what was done then.
    done: &'static str,
    /// How a sentence begins that names an alternative.
    alternatives: &'static str,
}

const ENGLISH: SpokenLanguage = SpokenLanguage {
    pointers: "this that it these those them",
    nouns: "alternative alternatives approach attempt block blocks change changes code command commands commit diff \
        edit edits fix idea option patch proposal script sketch snippet solution suggestion \
        variant version way",
    speakers: "i i'd we we'd you please but and what so just or that which whatever",
    negations: "not don't never won't wouldn't didn't shouldn't mustn't haven't cannot can't avoid",
    doing: "add appl chang call commit copy creat delet do doing done edit execut includ merg \
        propos recommend remov run send try us want writ",
    rejected: "abandoned decided discarded dismissed disagree dropped rejected scrapped undid",
    wrong: "bad broken dangerous faulty flawed incorrect naive naïve unsafe wrong",
    being: "be is would",
    earlier: "already ago before earlier last once previous previously reminder",
    done: "applied changed did executed gave made posted proposed ran sent tried wrote",
    alternatives: "an alternative would|an alternative could|an alternative is|an alternative was|\
        one alternative|another alternative|the alternative would|one option would|\
        one option could|one option is to|another way would",
};

const OTHERS: [SpokenLanguage; 6] = [
    SpokenLanguage {
        pointers: "das dies diese diesen dieser dieses so folgende folgenden folgendes",
        nouns: "alternative alternativen ansatz ansätze idee lösung variante vorschlag versuch",
        speakers: "bitte noch auf keinen fall aber und also es ich",
        negations: "nicht nie niemals kein keinen",
        doing: "anwend angewend ausführ ausgeführ benutz committe empfehl empfohl mach tun umsetz \
            verwend übernehm übernomm ändern",
        rejected: "abgelehnt verworfen fallengelassen",
        wrong: "falsch fehlerhaft gefährlich schlecht verkehrt",
        being: "ist wäre",
        earlier: "bereits schon letzten vorigen vorherigen vorhin zuvor",
        done: "angewendet erledigt geändert gemacht geschickt gesendet umgesetzt",
        alternatives: "eine alternative wäre|alternativ ginge",
    },
    SpokenLanguage {
        pointers: "esto eso esta este estos así lo siguiente",
        nouns: "alternativa alternativas cambio enfoque idea opción propuesta solución",
        speakers: "por favor pero y todavía aún",
        negations: "no nunca jamás",
        doing: "aplic ejecut hace haci haga hago recomend us utili",
        rejected: "descarté descartado descartada rechacé rechazado rechazada",
        wrong: "erróneo incorrecto incorrecta mal peligroso",
        being: "es está estaría sería",
        earlier: "anterior anteriormente antes ya pasada",
        done: "aplicado aplicada apliqué enviado envié hecho hice mandé",
        alternatives: "una alternativa sería|otra alternativa",
    },
    SpokenLanguage {
        pointers: "ceci cela ça suivant suivante cette ce pas le ainsi",
        nouns: "alternative approche idée modification proposition solution",
        speakers: "s'il te vous plaît mais et svp à",
        negations: "ne n' pas jamais non",
        doing: "appliqu exécut faire fais fait fass lanc recommand retenu utilis",
        rejected: "abandonné abandonnée rejeté rejetée écarté écartée",
        wrong: "dangereux faux incorrect mauvais",
        being: "est serait",
        earlier: "précédent précédente dernier dernière déjà auparavant",
        done: "appliqué appliquée envoyé envoyée fait faite",
        alternatives: "une alternative serait|une autre solution serait",
    },
    SpokenLanguage {
        pointers: "questo questa questi così lo seguente",
        nouns: "alternativa alternative approccio idea modifica proposta soluzione",
        speakers: "per favore ma e ancora da",
        negations: "non mai",
        doing: "applic consigli esegu fa fare far raccomand us",
        rejected: "scartato scartata rifiutato rifiutata",
        wrong: "errato pericoloso sbagliato sbagliata",
        being: "è sarebbe",
        earlier: "precedente già prima scorso",
        done: "applicato applicata fatto fatta inviato inviata mandato",
        alternatives: "un'alternativa sarebbe|un\u{2019}alternativa sarebbe",
    },
    SpokenLanguage {
        pointers: "isto isso este esta assim seguinte o",
        nouns: "alternativa abordagem ideia mudança proposta solução",
        speakers: "por favor mas e ainda",
        negations: "não nunca jamais",
        doing: "aplic apliqu execut faz faze faça faço recomend us",
        rejected: "descartado descartada descartei rejeitado rejeitada rejeitei",
        wrong: "errado errada incorreto perigoso",
        being: "é está estaria seria",
        earlier: "anterior antes já passada",
        done: "aplicado aplicada apliquei enviado enviei feito fiz mandei",
        alternatives: "uma alternativa seria",
    },
    SpokenLanguage {
        pointers: "так это этого этот эту эти следующее следующий",
        nouns: "вариант вариантов варианты идея подход правка предложение решение",
        speakers: "пожалуйста но и пока",
        negations: "не никогда",
        doing: "выполн дела запуск использ меня применя рекоменд",
        rejected: "отверг отвергнут отказался отклонил отклонён отклоненные",
        wrong: "неверно неправильно опасно ошибочно",
        being: "будет",
        earlier: "прошлом предыдущем раньше уже ранее",
        done: "отправил применил применена применено сделал сделано",
        alternatives: "альтернативой был|альтернатива:",
    },
];

/// Words of Chinese and Japanese, which puts no blanks between them: all parts that bars divide stand in
/// the sentence, each as one of its forms.
const UNSPACED: [(WordsAbove, &[&str]); 9] = [
    (
        WordsAbove::Refusal,
        &[
            "不要|别|請勿|请勿|不应|不能",
            "这样做|这么做|应用|执行|运行|采用这|使用这|照这",
        ],
    ),
    (
        WordsAbove::Refusal,
        &[
            "不推荐|不建议|不采用|未采用|没有采用|放弃|否决",
            "这|此|该|下面|以下|方案|做法",
        ],
    ),
    (
        WordsAbove::Refusal,
        &["ないでください|しないで", "これ|この|次|以下"],
    ),
    (
        WordsAbove::Refusal,
        &[
            "却下|不採用|採用しな|推奨しません",
            "これ|この|次|以下|案|方法",
        ],
    ),
    (
        WordsAbove::Quotation,
        &["上一轮|上一次|上次|上一条", "发送|发过|应用|提交|改过|做过"],
    ),
    (
        WordsAbove::Quotation,
        &["已经|已", "应用过|生效|应用了", "这|此|该"],
    ),
    (
        WordsAbove::Quotation,
        &["前回|すでに|既に", "送|適用", "これ|この|次|以下"],
    ),
    (
        WordsAbove::Offer,
        &["备选方案|替代方案|另一种方案|代替案", "："],
    ),
    (
        WordsAbove::Offer,
        &["以后|之后再|暂不|暂时不", "应用|修改|可以", "这|此|如下"],
    ),
];

/// Words that say what is done now.
const DECISIONS: [&str; 12] = [
    "改为",
    "改成",
    "所以我",
    "因此",
    "现在",
    "そのため",
    "deshalb",
    "daher",
    "por eso",
    "por lo que",
    "donc",
    "поэтому",
];

/// Reads the sentence that leads to an edit, in small letters.
pub(super) fn read(sentence: &str) -> Option<WordsAbove> {
    if decides(sentence) || DECISIONS.iter().any(|words| sentence.contains(words)) {
        return None;
    }
    let clauses = clauses(sentence);
    let any = |is_it: &dyn Fn(&[&str]) -> bool| clauses.iter().any(|clause| is_it(clause));
    let others = || OTHERS.iter();
    let refuses = any(&forbids)
        || any(&rejects)
        || (ends_with_colon(sentence) && any(&skips))
        || calls_wrong(sentence, &clauses)
        || is_wrong_one(&clauses)
        || judges_behind(sentence, &clauses)
        || ENGLISH.is_label_against(&clauses)
        || others().any(|it| it.is_label_against(&clauses))
        || others().any(|it| any(&|clause| it.forbids(clause)) || it.rejects(&clauses));
    if refuses {
        return Some(WordsAbove::Refusal);
    }
    if dates_back(&clauses)
        || is_done_before(&clauses)
        || others().any(|it| it.dates_back(&clauses))
    {
        return Some(WordsAbove::Quotation);
    }
    if any(&illustrates) {
        return Some(WordsAbove::Example);
    }
    let is_alternative = |it: &SpokenLanguage| begins_with(sentence, it.alternatives);
    let is_later = || {
        clauses.first().is_some_and(|first| {
            matches!(
                first[..],
                ["not", "now" | "yet"] | ["noch", "nicht"] | ["ahora", "no"]
            )
        })
    };
    if is_alternative(&ENGLISH) || others().any(is_alternative) || is_later() {
        return Some(WordsAbove::Offer);
    }
    let holds = |forms: &&str| forms.split('|').any(|form| sentence.contains(form));
    let unspaced = || UNSPACED.iter().find(|(_, parts)| parts.iter().all(holds));
    (!sentence.is_ascii())
        .then(unspaced)?
        .map(|(words, _)| *words)
}

/// Returns true if the first sentence below an edit, in small letters, gives it up: `I would not do that,
/// though.`, `but rejected it, because`.
pub(super) fn rejected_below(sentence: &str) -> bool {
    const MODALS: &str = "would wouldn't should shouldn't";
    const BUT: &str = "aber pero mais ma mas но";
    if decides(sentence) {
        return false;
    }
    let clauses = clauses(sentence);
    let Some(first) = clauses.first() else {
        return false;
    };
    let is_wish = first.iter().take(2).any(|word| has_word(MODALS, word));
    let ends = first
        .last()
        .is_some_and(|word| has_word(ENGLISH.pointers, word));
    let contrasts = |it: &SpokenLanguage| {
        has_word(BUT, first[0]) && first.iter().any(|word| has_word(it.rejected, word))
    };
    (is_wish && ends && forbids(first))
        || (has_word("but i we", first[0]) && rejects(first))
        || OTHERS.iter().any(contrasts)
        || ["但我放弃", "但放弃", "但被否决"]
            .iter()
            .any(|it| sentence.starts_with(it))
}

/// Returns true if a question below an edit asks if it is to be done: `Shall I apply this, or not?`
pub(super) fn asks_below(sentence: &str) -> bool {
    const OPENINGS: &str = "shall i |should i |shall we |should we |may i |do you want me to |\
        would you like me to |soll ich |sollen wir |¿aplico |¿hago |¿quieres que |¿debo |dois-je |\
        voulez-vous que |veux-tu que |devo |vuoi che |posso |quer que |мне |применить |要我|是否|我可以|\
        適用しても|実行しても";
    const DOING: &str = "appl make do go proceed anwend mach umsetz übernehm aplic apliqu haga hago \
        fasse applic faccia faça примен сдела";
    const POINTERS: &str = "this that it these them das dies diese diesen so esto eso este así ceci cela \
        cette ce questo questa così isto isso это эти так";
    if !begins_with(sentence, OPENINGS) {
        return false;
    }
    let words: Vec<&str> = sentence
        .split(is_edge)
        .filter(|it| !it.is_empty())
        .collect();
    let does = words.iter().take(7).position(|word| is_stem(DOING, word));
    let unspaced = || {
        ["应用", "这样", "適用", "実行"]
            .iter()
            .any(|it| sentence.contains(it))
    };
    match does {
        Some(_) => words.iter().any(|word| has_word(POINTERS, word)),
        None => !sentence.is_ascii() && unspaced(),
    }
}

/// Returns true if a sentence below an edit waits for the word of the person: `Let me know if I should also
/// apply that.` One that goes on is about something else: `apply this to the other files`.
pub(super) fn waits_below(sentence: &str) -> bool {
    const OPENINGS: &str = "let me know if i should |let me know whether i should |tell me if i should |\
        let me know if you want me to |say if i should ";
    if !begins_with(sentence, OPENINGS) {
        return false;
    }
    let clauses = clauses(sentence);
    let rest = clauses[0]
        .iter()
        .rposition(|word| has_word("should to", word));
    let mut rest = rest.map_or(&[][..], |at| &clauses[0][at + 1..]);
    rest = rest.strip_prefix(&["also"]).unwrap_or(rest);
    matches!(rest, [verb, pointer, noun @ ..] if has_word("apply do make", verb)
        && has_word(ENGLISH.pointers, pointer)
        && (noun.is_empty() || matches!(noun, [noun] if has_word(ENGLISH.nouns, noun))))
}

/// Orders in other languages to forget what stands above.
pub(super) const TAKEN_BACK: &str = "vergiss das|vergessen sie das|ignorier das|ignoriere das|\
    ignorieren sie das|olvida eso|olvida lo anterior|olvide lo anterior|ignora lo anterior|\
    ignora eso|ignore lo anterior|oublie ça|oubliez cela|oublie cela|ignore ce qui précède|\
    ignorez ce qui précède|ignora quanto sopra|dimentica quanto|ignorate quanto sopra|ignore o acima|\
    ignore isso|ignore o que|esqueça isso|esqueça o|забудь это|забудьте это|забудьте про|\
    игнорируй|请忽略上|忽略上|请忽略以上|忽略以上|上記は無視|上記を無視|先ほどのは無視";

fn is_edge(c: char) -> bool {
    !(c.is_alphanumeric() || matches!(c, '\'' | '-'))
}

/// The words of each clause.
fn clauses(sentence: &str) -> Vec<Vec<&str>> {
    const ENDS: [char; 13] = [
        ',', ';', ':', '(', ')', '.', '!', '?', '\u{2013}', '\u{2014}', '\u{ff1a}', '\u{ff0c}',
        '\u{3002}',
    ];
    let clauses = sentence.split(ENDS).map(|clause| {
        let words = clause.split(is_edge).filter(|it| !it.is_empty());
        words.collect::<Vec<_>>()
    });
    clauses.filter(|words| !words.is_empty()).collect()
}

/// Returns true if a word begins with one of these stems.
fn is_stem(stems: &str, word: &str) -> bool {
    // Short stems are whole words: `do`, `us` of `use`.
    const ENDINGS: &str = "e ed es ing ar are er o a ez en t";
    stems.split_whitespace().any(|stem| {
        let rest = word.strip_prefix(stem);
        rest.is_some_and(|rest| {
            rest.is_empty() || stem.chars().count() > 3 || has_word(ENDINGS, rest)
        })
    })
}

/// Returns true if the words here mean the edit: `this`, `the following`, `this change`, `it because`.
/// `This check` is a part of the code.
fn is_mention(words: &[&str]) -> bool {
    const LINKS: &str = "again also and anyway as at because before but either for from here if in last like \
        now on once or since so then though to too unless until was when where which with without yet \
        yourself";
    match words {
        ["the" | "any", "following", ..] | ["the", "above" | "below", ..] => true,
        [pointer, rest @ ..] if has_word(ENGLISH.pointers, pointer) => {
            let noun = |word: &&&str| has_word("one kind sort", word);
            let rest = &rest[rest.iter().take(1).filter(noun).count()..];
            rest.first()
                .is_none_or(|next| has_word(LINKS, next) || has_word(ENGLISH.nouns, next))
        }
        _ => false,
    }
}

/// Returns true if a clause says not to do what it means: `do not apply this`, `what I did not do`,
/// `this should not be applied`.
fn forbids(clause: &[&str]) -> bool {
    const AUXILIARIES: &str = "am are be better can could did do had have is may might must rather really \
        shall should strongly was were will would";
    const FILLERS: &str = "actually be been going have just simply to yet";
    const PASSIVES: &str = "applied adopted meant recommended proposed";
    let is_negation = |at: &usize| has_word(ENGLISH.negations, clause[*at]);
    (0..clause.len()).filter(is_negation).any(|at| {
        let aux = |word: &&&str| has_word(AUXILIARIES, word);
        let before = &clause[..at];
        let count = before.iter().rev().take_while(aux).count();
        let subject = before[..at - count].last();
        let is_edit = subject.is_some_and(|word| {
            has_word("this it that these", word) || has_word(ENGLISH.nouns, word)
        });
        if subject.is_some_and(|word| !is_edit && !has_word(ENGLISH.speakers, word)) {
            return false;
        }
        let below = &clause[at + 1..];
        let skipped = below
            .iter()
            .take_while(|word| has_word(FILLERS, word))
            .count();
        let below = &below[skipped..];
        let is_would =
            || clause[at] == "wouldn't" || clause[at] == "won't" || before.contains(&"would");
        match below {
            // `You asked whether it works. It would not:`
            [] => is_edit && is_would(),
            [verb, ..] if is_edit => has_word(PASSIVES, verb),
            _ if clause[at] == "avoid" && subject.is_some() => false,
            _ if clause[at] == "avoid" && is_mention(below) => true,
            ["like", "this" | "that"] => true,
            _ => carries_out(below),
        }
    })
}

/// Returns true if these words mean to carry out the edit: `apply this`, `run`.
fn carries_out(words: &[&str]) -> bool {
    let [verb, rest @ ..] = words else {
        return false;
    };
    let rest = rest.strip_prefix(&["out"]).unwrap_or(rest);
    (is_stem(ENGLISH.doing, verb) || matches!(*verb, "running" | "using"))
        && (rest.is_empty() || is_mention(rest))
}

/// Returns true if a clause is an order to pass over what it means: `ignore this`, `no need to do this`.
/// `Ignore it in the parser` says what the code does, `ignore the above` is about what stands above.
fn skips(clause: &[&str]) -> bool {
    let clause = clause.strip_prefix(&["please"]).unwrap_or(clause);
    match clause {
        ["ignore" | "disregard" | "skip", rest @ ..] => {
            matches!(rest, ["this" | "these", ..] | ["the", "following", ..]) && is_mention(rest)
        }
        ["no", "need", "to", rest @ ..] | ["there", "is", "no", "need", "to", rest @ ..] => {
            carries_out(rest)
        }
        _ => false,
    }
}

/// Returns true if a clause gives up what it means: `which I rejected because`, `decided against it`,
/// `rejected alternatives`.
fn rejects(clause: &[&str]) -> bool {
    clause.iter().enumerate().any(|(at, word)| {
        if !has_word(ENGLISH.rejected, word) {
            return false;
        }
        let rest = &clause[at + 1..];
        let rest = match (*word, rest) {
            ("decided", ["against", rest @ ..]) | ("disagree", ["with", rest @ ..]) => rest,
            ("decided" | "disagree", _) => return false,
            (_, rest) => rest,
        };
        let is_relative = matches!(clause[..at], [.., "which" | "that" | "what", "i" | "we"]);
        // `considered and rejected`
        let is_begun =
            at == 0 || matches!(clause[..at], [.., "considered" | "tried", "and" | "but"]);
        let is_label =
            is_begun && rest.len() <= 1 && rest.iter().all(|it| has_word(ENGLISH.nouns, it));
        is_relative || is_label || is_mention(rest)
    })
}

/// Returns true if a sentence presents an edit and calls it wrong: `the naive fix would be the following,
/// which is wrong`.
fn calls_wrong(sentence: &str, clauses: &[Vec<&str>]) -> bool {
    const WRONG: &str =
        "bad break breaks broke dangerous fail failed fails hides incorrect unsafe wrong";
    let presents = [
        "the following",
        " was this",
        " is this",
        " be this",
        "i tried this",
    ];
    let is_cause = [
        "that introduced ",
        "which introduced ",
        "that caused ",
        "that broke ",
    ];
    let is_shown = begins_with(
        sentence,
        "this is the |this was the |here is the |below is the ",
    );
    let judges = |clause: &Vec<&str>| {
        matches!(
            clause[..],
            ["which" | "it" | "that", ..] | ["and" | "but", "it" | "that", ..]
        ) && clause.iter().any(|word| has_word(WRONG, word))
    };
    (presents.iter().any(|it| sentence.contains(it)) && clauses.iter().any(judges))
        || (is_shown && is_cause.iter().any(|it| sentence.contains(it)))
}

/// Words for an edit that did not work. It may be sent again: only as what it `was` it is not.
const FAILED: &str = "failed failing";

/// Returns true if a sentence is only the name of an edit that it calls wrong, or says that the one below
/// failed or was only a temptation: `the naive version would be`, `a common mistake here is`, `this edit
/// failed`.
fn is_wrong_one(clauses: &[Vec<&str>]) -> bool {
    const ARTICLES: &str = "a an my one the this your";
    const COMMON: &str = "classic common frequent typical";
    const MISTAKES: &str = "antipattern error mistake pitfall trap";
    const BEING: &str = "be here is was would";
    // `The unsafe block`, `the failing code` are what an edit is for.
    const PARTS: &str = "block blocks code command commands option script";
    let [clause] = clauses else { return false };
    let tempts = clause
        .iter()
        .position(|word| has_word("tempted tempting", word));
    match clause[..] {
        ["this", noun, "failed" | "fails"] => return has_word(ENGLISH.nouns, noun),
        ["this" | "that", "would", "be", "a", noun] => return has_word(MISTAKES, noun),
        _ => {}
    }
    if let Some(["to", rest @ ..]) = tempts.map(|at| &clause[at + 1..]) {
        return carries_out(rest);
    }
    let is_article = |word: &&str| has_word(ARTICLES, word);
    let named = &clause[clause
        .iter()
        .take(1)
        .filter(|word| is_article(word))
        .count()..];
    let [adjective, noun, rest @ ..] = named else {
        return false;
    };
    let is_past = rest.iter().any(|word| has_word("was would", word));
    let is_edit = has_word(ENGLISH.nouns, noun) && (is_past || !has_word(PARTS, noun));
    let is_wrong = is_edit && has_word(ENGLISH.wrong, adjective)
        || is_edit && has_word(FAILED, adjective) && (is_past || *noun == "attempt")
        || has_word(COMMON, adjective) && has_word(MISTAKES, noun);
    is_wrong && rest.iter().all(|word| has_word(BEING, word))
}

/// Returns true if the end of a label calls wrong what stands before it: `tempting, but wrong:`, `my first
/// attempt (wrong):`.
fn judges_behind(sentence: &str, clauses: &[Vec<&str>]) -> bool {
    let is_label = ends_with_colon(sentence) || sentence.ends_with(')');
    let Some((judgement, before)) = clauses.last().and_then(|last| last.split_last()) else {
        return false;
    };
    let is_behind = clauses.len() > 1 || !before.is_empty();
    let is_wrong = has_word(ENGLISH.wrong, judgement) || has_word(FAILED, judgement);
    let is_only = before
        .iter()
        .all(|word| has_word("also and but tempting", word));
    is_label && is_behind && is_wrong && is_only
}

/// Returns true if a sentence is only a label for what was done before: `previously applied`.
fn is_done_before(clauses: &[Vec<&str>]) -> bool {
    let [clause] = clauses else { return false };
    let is_label = matches!(clause[..], [_, _]);
    is_label && has_any(clauses, ENGLISH.earlier) && has_any(clauses, ENGLISH.done)
}

/// Returns true if a sentence says that what it means was done before: `in the previous round I sent
/// this`, `this change is already in place`.
fn dates_back(clauses: &[Vec<&str>]) -> bool {
    const BETWEEN: &str = "is was are were has have been already";
    let mut words = clauses.iter().flatten();
    if !words.any(|word| has_word(ENGLISH.earlier, word)) {
        return false;
    }
    clauses.iter().any(|clause| {
        clause.iter().enumerate().any(|(at, word)| {
            let did = || has_word(ENGLISH.done, word) && is_mention(&clause[at + 1..]);
            let is_done = || {
                let rest = match &clause[at..] {
                    ["this" | "that", noun, rest @ ..] if has_word(ENGLISH.nouns, noun) => rest,
                    ["this" | "it" | "that", rest @ ..] => rest,
                    _ => return false,
                };
                let count = rest.iter().take_while(|it| has_word(BETWEEN, it)).count();
                let is_past = rest[..count].contains(&"already");
                count > 0
                    && match &rest[count..] {
                        ["in", "place", ..] | ["there", ..] => is_past,
                        [verb, ..] => has_word("applied executed made sent", verb),
                        [] => false,
                    }
            };
            did() || is_done()
        })
    })
}

/// Returns true if a clause calls what it leads to an illustration: `this is only an illustration of`.
fn illustrates(clause: &[&str]) -> bool {
    const NOUNS: &str = "illustration illustrations sketch skizze demonstration";
    let is_short = |at: usize| at < 6;
    let at = clause.iter().position(|word| has_word(NOUNS, word));
    at.is_some_and(is_short)
        && has_word("this here here's these as a just only nur hier", clause[0])
}

/// Returns true if a clause of a sentence says what is done: `so I remove it`, `but I keep the loop`.
fn decides(sentence: &str) -> bool {
    const VERBS: &str = "add apply change correct create delete drop fix handle insert keep make move now put \
        remove rename replace restore return rewrite set split swap switch undo update use write";
    const PAST: &str =
        "adapted added adjusted changed corrected fixed moved replaced rewrote updated wrote";
    let clauses = clauses(sentence);
    clauses.iter().any(|clause| {
        let mut after = (0..clause.len())
            .filter(|at| has_word("i we i'll we'll let's i'm", clause[*at]))
            .map(|at| &clause[at + 1..]);
        let says_now = !matches!(clause[..], ["not", ..]) && clause.contains(&"now");
        let so = clause[0] == "so";
        let does = after.any(|rest| {
            let skipped = rest
                .iter()
                .take_while(|it| has_word("now therefore instead will just also", it));
            let skipped = skipped.count();
            let verb = rest.get(skipped);
            verb.is_some_and(|verb| has_word(VERBS, verb) || (so && has_word(PAST, verb)))
        });
        let corrects = matches!(
            clause[..],
            [
                "this" | "so" | "here",
                "fixes" | "corrects" | "is" | "now",
                ..
            ]
        ) && clause
            .iter()
            .any(|it| has_word("fixes corrects corrected", it));
        does || says_now || corrects
    })
}

/// Returns true if one of the wanted words is in a sentence.
fn has_any(clauses: &[Vec<&str>], wanted: &str) -> bool {
    clauses.iter().flatten().any(|it| has_word(wanted, it))
}

impl SpokenLanguage {
    /// Returns true if a clause is an order not to do something: `No hagas esto`, `Bitte nicht so machen`.
    fn forbids(&self, clause: &[&str]) -> bool {
        const MOST_BETWEEN: usize = 2;
        let fillers = clause
            .iter()
            .take_while(|it| has_word(self.speakers, it))
            .count();
        let rest = &clause[fillers..];
        let (is_joined, rest) = match rest {
            [first, below @ ..] if has_word(self.negations, first) => (false, below),
            // `n'appliquez`
            [first, ..] if self.negations.contains("n'") && first.starts_with("n'") => (true, rest),
            _ => return false,
        };
        let verb = rest.iter().take(1 + MOST_BETWEEN).position(|word| {
            let word = if is_joined {
                word.trim_start_matches("n'")
            } else {
                word
            };
            is_stem(self.doing, word)
        });
        let Some(at) = verb else { return false };
        let is_between = rest[..at]
            .iter()
            .all(|it| has_word(self.pointers, it) || has_word(self.speakers, it));
        let means = rest.iter().any(|it| has_word(self.pointers, it));
        is_between && (means || rest.len() == at + 1)
    }

    /// Returns true if a sentence has only words for the edit and words that call it wrong or negate it:
    /// `this would be wrong`, `so nicht`.
    fn is_label_against(&self, clauses: &[Vec<&str>]) -> bool {
        let [clause] = clauses else { return false };
        // `It is wrong` may be about the code.
        let points = |word: &str| has_word(self.pointers, word) && word != "it";
        let is_against = |word: &str| has_word(self.wrong, word) || has_word(self.negations, word);
        let is_known = |word: &&str| points(word) || is_against(word) || has_word(self.being, word);
        clause.iter().any(|word| points(word))
            && clause.iter().any(|word| is_against(word))
            && clause.iter().all(is_known)
    }

    fn means_edit(&self, clauses: &[Vec<&str>]) -> bool {
        let mut words = clauses.iter().flatten();
        words.any(|it| has_word(self.pointers, it) || has_word(self.nouns, it))
    }

    fn rejects(&self, clauses: &[Vec<&str>]) -> bool {
        has_any(clauses, self.rejected) && self.means_edit(clauses)
    }

    fn dates_back(&self, clauses: &[Vec<&str>]) -> bool {
        has_any(clauses, self.earlier)
            && has_any(clauses, self.done)
            && has_any(clauses, self.pointers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(sentence: &str, expected: Option<WordsAbove>) {
        assert_eq!(read(&sentence.to_lowercase()), expected, "{sentence}");
    }

    #[test]
    fn words_about_the_edit_count_in_all_languages() {
        for sentence in [
            "Do not apply this; it breaks the build:",
            "It would not:",
            "This should not be applied:",
            "What I did not do",
            "The reviewer suggested this change, which I rejected because it is not safe:",
            "My first attempt was this, and it failed the tests, so I dropped it:",
            "The naive fix would be the following, which is wrong since it hides the error:",
            "Your colleague's patch, which I disagree with:",
            "This is the commit from 2019 that introduced the bug:",
            "Rejected alternatives",
            "Rejected approach (not applied)",
            "Bitte nicht so machen:",
            "Diesen Ansatz habe ich verworfen:",
            "Alternative (nicht empfohlen):",
            "Noch nicht anwenden, nur als Skizze:",
            "No hagas esto:",
            "Consideré lo siguiente, pero lo descarté:",
            "Alternativa (no recomendada):",
            "Ne faites pas ceci :",
            "N'appliquez pas cette modification :",
            "J'ai écarté cette approche :",
            "Non fare così:",
            "Não faça isto:",
            "Не делайте так:",
            "不要这样做：",
            "我放弃了下面的方案：",
            "备选方案（不推荐）：",
            "これは適用しないでください：",
        ] {
            case(sentence, Some(WordsAbove::Refusal));
        }
        for sentence in [
            "In the previous round I sent this, and it was applied:",
            "As a reminder, this change is already in place from last time:",
            "In der letzten Runde habe ich das geschickt:",
            "En la ronda anterior envié esto:",
            "В прошлом раунде я отправил это:",
            "上一轮我发送了：",
        ] {
            case(sentence, Some(WordsAbove::Quotation));
        }
        for sentence in [
            "Not now, but after the release we could do this:",
            "An alternative would be:",
            "Una alternativa sería:",
        ] {
            case(sentence, Some(WordsAbove::Offer));
        }
        let sentence = "This is only an illustration of the format, not a change I propose:";
        case(sentence, Some(WordsAbove::Example));
    }

    #[test]
    fn words_about_the_code_do_not_count() {
        for sentence in [
            "avoid deleting / when it isn't defined, so this line would delete /",
            "The old code failed because the check was missing:",
            "The old check was wrong, so I replace it:",
            "This was wrong, so I changed it as follows:",
            "I removed the check that was rejected:",
            "I dropped the second check:",
            "The previous version did not handle this:",
            "The previous attempt failed because the text was not unique:",
            "I missed this in the previous round:",
            "In the last round I made this mistake:",
            "The function is not used:",
            "It is not used anywhere:",
            "This does not change the public interface:",
            "The tests never run this twice:",
            "I do not use this any more, so I remove it:",
            "An alternative would be a lock, but I keep the loop:",
            "This is only a small change:",
            "Die Funktion wird nicht ausgeführt:",
            "Der alte Test war falsch:",
            "In der letzten Runde habe ich das Feld vergessen:",
            "La función no comprueba el valor:",
            "La fonction n'est pas appelée :",
            "La funzione non usa il valore:",
            "Функция не использует кэш, это исправление:",
            "之前的检查有错误，修改如下：",
            "函数不能返回空值，修改如下：",
            "以前のコードは間違っていました。次のように修正します：",
        ] {
            case(sentence, None);
        }
    }

    #[test]
    fn words_that_call_the_edit_wrong_count() {
        for sentence in [
            "Not this:",
            "Ignore this:",
            "Please disregard the following:",
            "No need to do this:",
            "I'd rather not do this:",
            "Considered and rejected:",
            "This would be wrong:",
            "The naive version would be:",
            "A common mistake here is:",
            "The failing edit was:",
            "This edit failed:",
            "I was tempted to write:",
            "It is tempting to write:",
            "Tempting, but wrong:",
            "First attempt (failed):",
            "My first attempt (wrong):",
            "So nicht:",
            "Das wäre falsch:",
            "À ne pas faire :",
            "Esto sería incorrecto:",
            "Da non fare:",
        ] {
            case(sentence, Some(WordsAbove::Refusal));
        }
        case("Previously applied:", Some(WordsAbove::Quotation));
        for sentence in [
            "The fix for the failing test:",
            "Here is the fix for the wrong value:",
            "The unsafe block:",
            "The failed edit, with more context:",
            "The failed edit:",
            "The failing code:",
            "The common code:",
            "The naive version is slow, this one is not:",
            "This was wrong, so I changed it:",
            "This was wrong:",
            "The previous attempt failed, so here is another:",
            "Not only this file has it; here is the edit:",
            "I ignore case now:",
            "Ignore it in the parser:",
            "No need to check this twice:",
            "No change of the interface:",
            "I was tempted to add a lock, this is simpler:",
            "I considered the cache and dropped the lock:",
            "If the value is missing, wrong or empty:",
            "Das war falsch:",
            "Vorher war es falsch, jetzt:",
        ] {
            case(sentence, None);
        }
    }

    #[test]
    fn only_words_about_the_edit_above_give_it_up_below_it() {
        for sentence in [
            "i would not do that, though, as it is slower.",
            "but rejected it, because it breaks older versions.",
            "aber verworfen, weil es langsamer ist.",
            "pero lo descarté.",
        ] {
            assert!(rejected_below(sentence), "{sentence}");
        }
        for sentence in [
            "i did not change this elsewhere.",
            "i would not change the tests.",
            "i have not run it.",
            "but this is not all.",
        ] {
            assert!(!rejected_below(sentence), "{sentence}");
        }
        assert!(asks_below(
            "shall i apply this, or would you rather keep the old behaviour?"
        ));
        assert!(asks_below("soll ich das so umsetzen?"));
        assert!(!asks_below("shall i also run the tests?"));
        assert!(!asks_below("does this help?"));
        assert!(waits_below("let me know if i should also apply that."));
        assert!(!waits_below(
            "let me know if i should apply this to the other files."
        ));
        assert!(!waits_below("let me know if i should run the tests."));
    }
}
