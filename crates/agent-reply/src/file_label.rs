//! Lines that name a file: what they say of the code block below.
//!
//! A line is a label if it is a heading, if it ends with a colon, or if it begins with the name and goes
//! on to explain: ``1. **`a.py`** – why``. The whole of the file follows if the line names exactly one
//! file and no word speaks of a part of it, an example, a change, an output, a place or a question; a
//! sentence also has to say that the file is new or complete.

use crate::line::{COLONS, ends_with_colon, has_word};
use crate::trim::trim;
use crate::{example, file_name, known_name};

/// The longest line that is a label.
const MAX_BYTES: usize = 4200;

/// Beginnings of words that say that the whole of a file follows, or that it is a new one.
const WHOLE: &str = "\
    here here's below complet full entire whole updated new final revised rewrit corrected created fixed \
    changed modified create write overwrit replace \
    hier folgt vollständig ganze gesamte komplett aktualisiert neue neuen neuer neues überarbeitet korrigiert geändert \
    aquí actualizad nuev entero corregid modificad \
    voici entier nouveau nouvel jour corrigé modifié \
    aqui atualizad novo nova inteir corrigid \
    ecco aggiornat nuov intero corrett \
    вот полно полны полна обновл новый новая новое исправл";

/// Such words in scripts that put no space around them.
const WHOLE_UNSPACED: &str =
    "以下 完整 更新 全部 修改后 新的 新版 全文 全体 完全 最新 新しい 修正後";

/// Beginnings of words about a part, an example, an output, the state before or a use of a file.
const PART: &str = "\
    excerpt snippet example sample partial part parts portion section fragment output outline sketch \
    current existing already unchanged original old before previous diff line lines only just \
    auszug ausschnitt beispiel teil ausgabe bisher bestehend zeile zeilen nur alte alten \
    ejemplo fragmento parte salida línea líneas sólo solo \
    exemple extrait partie sortie ligne lignes seulement \
    exemplo trecho saída linha linhas apenas \
    esempio estratto riga righe soltanto \
    пример фрагмент часть вывод строка строки только";

/// Such words in scripts that put no space around them.
const PART_UNSPACED: &str = "例 片段 部分 节选 输出 当前 原来 一部 抜粋 出力 現在";

/// Beginnings of words about something in a file or about its use.
const INNER: &str = "\
    add adds append insert remove delete change changes edit update adjust modify fix import importing \
    function method class struct constant variable loop block field test testing \
    call calls calling run running use uses using usage how what why when if which like \
    configure configuring understand explan explain check verify install start problem issue error bug cause log \
    review see show shows contains has after \
    ändere ändern änderung änderungen ergänz füge hinzu einfüg funktion methode klasse fehler wie starte \
    cambia cambio cambios añad agreg función método clase cómo ejecut usa uso \
    changement change ajout fonction méthode classe comment exécut utilis \
    altera alteraç mudança adicion função classe como execut usar uso \
    modifica modifiche aggiung funzione metodo come esegu usare uso \
    измен добав функци метод класс как запуст ошибк";

/// Such words in scripts that put no space around them.
const INNER_UNSPACED: &str =
    "中 里 添加 增加 修改 改动 变更 函数 方法 运行 使用 如何 错误 変更 追加 関数 実行";

/// Words that ask for a change: a heading with one names the file that is changed.
const CHANGES: &str = "\
    add change changes edit update adjust modify fix \
    ändere ändern \
    cambia \
    modifica altera измен";

/// Such words in scripts that put no space around them.
const CHANGES_UNSPACED: &str = "修改 变更 変更 更新 添加";

/// Words before a name that speak of something within the file.
const WITHIN: &str = "\
    in into inside within to from at near around on by with \
    im ins aus zu zur bei auf \
    en desde dans em na nel nella в из";

/// Words between one of `CONTENTS` and the name of the file.
const OF: &str = "of for von für de del para du pour do di per от для";

/// Words for the whole of a file: `the content of a.py`.
const CONTENTS: &str = "\
    code content contents file source text version implementation \
    inhalt code quelltext quellcode version fassung datei \
    contenido código versión archivo \
    contenu fichier \
    conteúdo versão arquivo \
    contenuto codice versione \
    содержимое содержание код версия";

/// Such words in scripts that put no space around them.
const CONTENTS_UNSPACED: &str = "内容 代码 版本 文件 源码 全文 コード 全体 ファイル";

/// Articles and nouns between such a word and the name.
const FILLERS: &str = "\
    the a an your our this file script module der die das den datei el la le lo il o os as los las l \
    archivo fichier arquivo ficheiro файл файла";

/// Returns true if a line is a heading: marked as one, or bold as a whole.
pub(super) fn is_heading(line: &str) -> bool {
    let text = trim(line);
    let name = text.trim_start_matches('#');
    let is_bold = || {
        let inner = text.trim_end_matches(COLONS).strip_prefix("**");
        inner
            .and_then(|inner| inner.strip_suffix("**"))
            .is_some_and(|inner| !inner.is_empty() && !inner.contains("**"))
    };
    (name.len() < text.len() && name.starts_with(' ')) || is_bold()
}

/// The file with which a line begins that goes on to explain the block below: ``1. **`a.py`** – why``.
pub(super) fn explained(line: &str) -> Option<&str> {
    Some(explanation(line)?.0)
}

/// The name at the beginning of a label, and its explanation.
fn explanation(line: &str) -> Option<(&str, &str)> {
    const DIVIDERS: [&str; 5] = ["- ", "\u{2013} ", "\u{2014} ", ": ", "\u{ff1a}"];
    let text = trim(line);
    if text.len() > MAX_BYTES {
        return None;
    }
    let item = without_item(text);
    let is_item = item.len() < text.len();
    let bold = item.strip_prefix("**");
    let rest = bold.unwrap_or(item);
    let (name, rest) = match rest.strip_prefix('`') {
        Some(rest) => rest.split_once('`')?,
        None if is_item || bold.is_some() => {
            let is_end = |c: char| c.is_whitespace() || "*:\u{ff1a}".contains(c);
            rest.split_at(rest.find(is_end)?)
        }
        None => return None,
    };
    let why = rest.trim_start_matches(['*', ' ']);
    // `**a.py:** why` has the mark behind the colon.
    let why = match why.strip_prefix(COLONS) {
        Some(why) => why
            .trim_start_matches('*')
            .strip_prefix([' ', '\u{3000}'])
            .or(Some(why)),
        None => DIVIDERS
            .iter()
            .find_map(|divider| why.strip_prefix(divider)),
    };
    let why = trim(why?);
    let is_name = file_name::is_file(name) || known_name::is_known(name);
    let is_sound = is_name
        && why.contains(char::is_alphabetic)
        && !file_name::in_words(why).iter().any(|other| *other != name)
        && !example::speaks_against(why);
    is_sound.then_some((name, why))
}

/// A line without the marks of a list or a heading before it.
fn without_item(text: &str) -> &str {
    let mut rest = text;
    loop {
        let next = rest.trim_start_matches('#').trim_start();
        let digits = next.trim_start_matches(|c: char| c.is_ascii_digit());
        let numbered = (digits.len() < next.len())
            .then(|| {
                digits
                    .strip_prefix(". ")
                    .or_else(|| digits.strip_prefix(") "))
            })
            .flatten();
        let mut bullets = ["- ", "* ", "+ ", "\u{2022} "].iter();
        let bullet = bullets.find_map(|bullet| next.strip_prefix(bullet));
        let next = trim(numbered.or(bullet).unwrap_or(next));
        if next == rest {
            return rest;
        }
        rest = next;
    }
}

/// Returns true if a line is an item of a list that names another file: one of several has no label.
pub(super) fn is_other_item(line: &str, name: &str) -> bool {
    let text = trim(line);
    let is_item = !text.starts_with('#') && without_item(text).len() < text.len();
    is_item && file_name::in_words(text).iter().any(|other| *other != name)
}

/// The file that a label says to follow as a whole: ``Here is the new `a.py`:``, ``### Step 1: Update
/// `a.py` ``, ``1. **`a.py`** – why``.
pub(super) fn whole(line: &str) -> Option<&str> {
    let text = trim(line);
    if text.len() > MAX_BYTES || text.ends_with(['?', '\u{ff1f}']) {
        return None;
    }
    let is_heading = is_heading(text);
    if let Some((name, why)) = explanation(text) {
        return leads_to_whole(why).then_some(name);
    }
    let name = only_file(text).filter(|_| is_heading || ends_with_colon(text))?;
    let (before, after) = text.split_once(name)?;
    // "No problem! Here is ...": only the last sentence announces it.
    let before = ["! ", ". ", "? "]
        .iter()
        .fold(before, |rest, end| rest.rsplit(end).next().unwrap_or(rest));
    if is_within(before, after)
        || after
            .trim_start_matches(['`', '*'])
            .starts_with(['\'', '\u{2019}'])
    {
        return None;
    }
    // "... that implements the function": what the file does is no part of it.
    let after = after.split(" that ").next().unwrap_or_default();
    let said = format!("{before} {after}");
    let speech = Speech::of(&said, is_heading);
    // A section may be called `CHANGES`, too.
    let is_path = || file_name::is_file(name) || name.contains(['.', '/']);
    let is_whole = if is_heading && is_path() {
        !speech.is_part
    } else {
        speech.is_whole()
    };
    is_whole.then_some(name)
}

/// Returns true if a line leads to a part of a file, to an output or to what is run.
pub(super) fn leads_to_part(line: &str) -> bool {
    ends_with_colon(line) && Speech::of(line, false).is_part
}

/// Returns true if a sentence over a block, with a heading above it that names the file, may lead to the
/// whole of the file.
pub(super) fn leads_to_whole(sentence: &str) -> bool {
    let text = trim(sentence);
    let lower = text.to_lowercase();
    let first = lower
        .split(|c: char| !c.is_alphanumeric())
        .next()
        .unwrap_or_default();
    if text.ends_with(['?', '\u{ff1f}']) || example::speaks_against(text) {
        return false;
    }
    let speech = Speech::of(text, false);
    let asks = || has_word(INNER, first) || first == "replace";
    if ends_with_colon(text) || asks() {
        let names_content = || words(&lower).iter().any(|word| has_word(CONTENTS, word));
        speech.is_whole() && (first != "replace" || names_content())
    } else {
        !mentions_part(&lower)
    }
}

/// The only file that a line names, with no other code before it.
fn only_file(text: &str) -> Option<&str> {
    if !text.contains('`') {
        let [name] = file_name::in_words(text)[..] else {
            return None;
        };
        return Some(name);
    }
    let is_path = |span: &str| {
        span.contains('/')
            && file_name::extension(span).is_some()
            && file_name::names_file(text, span)
    };
    let mut spans = text.split('`').skip(1).step_by(2);
    let name = spans.next()?;
    let is_name =
        |span: &str| file_name::is_file(span) || known_name::is_known(span) || is_path(span);
    let is_only = spans.all(|other| other == name || !is_name(other));
    (is_only && is_name(name) && !name.contains(char::is_whitespace)).then_some(name)
}

/// Returns true if the words around a name are about something within the file: `in a.py`, `the loop of
/// a.py`.
fn is_within(before: &str, after: &str) -> bool {
    let before = words(before);
    let mut before = before
        .iter()
        .rev()
        .skip_while(|word| has_word(FILLERS, word));
    let nearest = before.next();
    let is_of = nearest.is_some_and(|word| has_word(OF, word));
    let mut owner = before.skip_while(|word| has_word(FILLERS, word));
    let is_content = |word: &String| has_word(CONTENTS, word) || has_stem(WHOLE, word);
    let has = |list: &str| list.split(' ').any(|word| after.contains(word));
    let after_name = after.trim_start_matches(['`', '*', ' ']);
    nearest.is_some_and(|word| has_word(WITHIN, word))
        || (is_of && !owner.next().is_some_and(is_content))
        || after_name.starts_with(['に', 'で'])
        || (after_name.starts_with(['的', 'の']) && !has(CONTENTS_UNSPACED))
}

/// The meaning of some words for the text that follows.
pub(super) struct Speech {
    says_whole: bool,
    /// True if it is a part, an example or the like.
    pub(super) is_part: bool,
}

impl Speech {
    /// Reads words; in a heading those that ask for a change only name the file.
    fn of(said: &str, is_heading: bool) -> Self {
        let lower = said.to_lowercase();
        let words = words(&lower);
        let unspaced = |list: &str, text: &str| list.split(' ').any(|word| text.contains(word));
        let is_whole = |word: &String| has_stem(WHOLE, word);
        let is_change = |word: &String| is_heading && has_stem(CHANGES, word);
        let is_inner = |word: &String| !is_whole(word) && !is_change(word) && has_stem(INNER, word);
        let mut other = lower.clone();
        for word in WHOLE_UNSPACED.split(' ') {
            other = other.replace(word, "");
        }
        if is_heading {
            for word in CHANGES_UNSPACED.split(' ') {
                other = other.replace(word, "");
            }
        }
        Self {
            says_whole: words.iter().any(is_whole) || unspaced(WHOLE_UNSPACED, &lower),
            is_part: mentions_part(&lower)
                || words.iter().any(is_inner)
                || unspaced(INNER_UNSPACED, &other),
        }
    }

    /// Reads the words around what may be the name of a file.
    pub(super) fn around(line: &str, name: &str) -> Option<Self> {
        let (before, after) = line.split_once(name)?;
        (!is_within(before, after)).then(|| Self::of(&format!("{before} {after}"), false))
    }

    /// Returns true if they say that the whole of a file follows.
    pub(super) fn is_whole(&self) -> bool {
        self.says_whole && !self.is_part
    }
}

/// Returns true if words in small letters are about a part of a file or an example.
fn mentions_part(lower: &str) -> bool {
    words(lower).iter().any(|word| has_stem(PART, word))
        || PART_UNSPACED.split(' ').any(|word| lower.contains(word))
}

fn words(text: &str) -> Vec<String> {
    let text = text.to_lowercase().replace('\u{2019}', "'");
    let is_end = |c: char| !(c.is_alphanumeric() || c == '\'');
    let words = text.split(is_end).filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

/// Returns true if a word is one of these, or begins with one that has five letters or more.
fn has_stem(stems: &str, word: &str) -> bool {
    const SHORTEST: usize = 5;
    let is_it = |stem: &str| {
        word.strip_prefix(stem)
            .is_some_and(|rest| rest.is_empty() || stem.chars().count() >= SHORTEST)
    };
    stems.split_whitespace().any(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(line: &str, is_whole: bool) {
        assert_eq!(whole(line), is_whole.then_some("src/a.py"), "{line}");
    }

    #[test]
    fn a_label_announces_the_whole_file() {
        for line in [
            "### Step 1: Update `src/a.py`",
            "### Schritt 2: `src/a.py` anpassen",
            "### Paso 1: Actualizar `src/a.py`",
            "### 步骤 1：修改 `src/a.py`",
            "## 1. Backend (`src/a.py`)",
            "**Create `src/a.py`**",
            "1. **`src/a.py`** \u{2013} The value has to be checked here.",
            "- `src/a.py` - checks the value",
            "**`src/a.py`**: checks the value",
            "**src/a.py:** checks the value",
            "Here is the updated `src/a.py`:",
            "Here is the updated src/a.py:",
            "No problem! Here is the code for `src/a.py`:",
            "Here's the full content of `src/a.py`:",
            "The complete `src/a.py` file:",
            "Here's the modified `src/a.py` file that implements the `accumulate` function:",
            "Updated `src/a.py`:",
            "Create `src/a.py`:",
            "Replace the contents of `src/a.py` with:",
            "Hier ist die aktualisierte Datei `src/a.py`:",
            "Der vollständige Inhalt von `src/a.py`:",
            "Aquí está el archivo `src/a.py` actualizado:",
            "Contenido completo de `src/a.py`:",
            "Voici le fichier `src/a.py` mis à jour :",
            "Contenu complet de `src/a.py` :",
            "Aqui está o arquivo `src/a.py` atualizado:",
            "Conteúdo completo de `src/a.py`:",
            "Ecco il file `src/a.py` aggiornato:",
            "Contenuto completo di `src/a.py`:",
            "Вот обновлённый файл `src/a.py`:",
            "Полное содержимое `src/a.py`:",
            "以下是更新后的 `src/a.py`：",
            "`src/a.py` 的完整内容：",
            "更新後の `src/a.py` は以下の通りです：",
            "`src/a.py` の全体の内容：",
        ] {
            case(line, true);
        }
    }

    #[test]
    fn a_part_an_example_or_a_place_is_no_whole_file() {
        for line in [
            "Update `src/a.py`:",
            "In `src/a.py`:",
            "Add this to `src/a.py`:",
            "Change this in `src/a.py`:",
            "Here is the fix for `src/a.py`:",
            "Here is the new loop of `src/a.py`:",
            "Here is the new `main()` of `src/a.py`:",
            "Here is how to use `src/a.py`:",
            "Here is the snippet of `src/a.py`:",
            "Here is `src/a.py` usage:",
            "Here is the output of `src/a.py`:",
            "Here are the new lines of `src/a.py`:",
            "Here is `src/a.py`'s new loop:",
            "Replace the loop in `src/a.py` with:",
            "Create `src/a.py` with the changes below:",
            "Create `src/a.py` and `src/b.py`:",
            "Run `src/a.py`:",
            "### Changes in `src/a.py`",
            "### Add tests to `src/a.py`",
            "### Run `src/a.py`",
            "### How `src/a.py` works",
            "### Example: `src/a.py`",
            "### Output of `src/a.py`",
            "### Is it `src/a.py`?",
            "### `src/a.py` (lines 5-7)",
            "1. **`src/a.py`** \u{2013} Add this import:",
            "1. **`src/a.py`** \u{2013} an excerpt",
            "1. **`src/a.py`** \u{2013} used by `src/b.py`",
            "In `src/a.py` folgendes ändern:",
            "Änderung in `src/a.py`:",
            "Ein Auszug aus `src/a.py`:",
            "En `src/a.py`:",
            "Cambia `src/a.py` así:",
            "在 `src/a.py` 中：",
            "修改 `src/a.py`：",
            "`src/a.py` に以下を追加：",
        ] {
            case(line, false);
        }
    }

    #[test]
    fn an_explanation_behind_a_name_labels_the_block() {
        for line in [
            "1. **`a.py`** \u{2013} The value has to be checked here.",
            "2. `a.py` - The value has to be checked.",
            "- **a.py**: The value has to be checked.",
            "**`a.py`** \u{2014} The value has to be checked.",
            "`a.py`: The value has to be checked.",
            "### a.py \u{2013} the value",
            "* **a.py:** the value",
        ] {
            assert_eq!(explained(line), Some("a.py"), "{line}");
        }
        for line in [
            "a.py: error",
            "`a.py` has to be checked.",
            "`a.py`-based",
            "- `a.py`: like `b.py`",
            "- `value`: is checked",
            "1. `a.py` \u{2013} for example:",
            "- `a.py`:5",
        ] {
            assert_eq!(explained(line), None, "{line}");
        }
    }
}
