//! `${name...}`: variables, elements of lists, and their operators.

use super::{ScriptReader, UNKNOWN};

impl ScriptReader<'_, '_> {
    /// Reads `${name...}` after its brace; a default replaces an unknown value.
    pub(super) fn parameter(&mut self) -> String {
        let is_worked_out =
            matches!(self.peek(), Some('!' | '#')) && self.ahead(1).is_some_and(|next| next != '}');
        if is_worked_out {
            self.advance();
        }
        let mut name = self.name();
        if let Some(all @ ('@' | '*')) = self.peek().filter(|_| name.is_empty()) {
            self.advance();
            name.push(all);
        }
        let index = self.take_if('[').then(|| self.index());
        let operator = self.operator();
        let operand = self.operand();
        if is_worked_out {
            return UNKNOWN.to_string();
        }
        let value = match index {
            Some(index) => self.element(&name, &index),
            None => self.variable(&name),
        };
        applied(&operator, value, operand)
    }

    fn index(&mut self) -> String {
        let mut index = String::new();
        while let Some(next) = self.peek().filter(|next| *next != '}') {
            self.advance();
            if next == ']' {
                break;
            }
            index.push(next);
        }
        index
    }

    /// The operator between the name and the operand: `:-`, `%%`, `/`.
    fn operator(&mut self) -> String {
        let mut operator = String::new();
        let Some(first) = self.peek().filter(|next| ":-=+?%#/^,".contains(*next)) else {
            return operator;
        };
        self.advance();
        operator.push(first);
        let follows = |next: &char| match first {
            ':' => "-=+?".contains(*next),
            '%' | '#' | '/' | '^' | ',' => *next == first,
            _ => false,
        };
        if let Some(next) = self.peek().filter(follows) {
            self.advance();
            operator.push(next);
        }
        operator
    }

    /// Reads to the closing brace.
    fn operand(&mut self) -> String {
        let mut operand = String::new();
        while let Some(next) = self.peek() {
            match next {
                '}' => {
                    self.advance();
                    break;
                }
                '"' => {
                    self.advance();
                    self.double_quoted(&mut operand);
                }
                '$' => {
                    let value = self.dollar(&mut false);
                    self.state.spend(value.len());
                    operand.push_str(&value);
                }
                '`' => {
                    let value = self.backticks();
                    operand.push_str(&value);
                }
                _ => {
                    operand.push(next);
                    self.advance();
                }
            }
        }
        operand
    }

    /// One word of a list, or all of them.
    fn element(&self, name: &str, index: &str) -> String {
        if let Some(value) = self.state.variables.get(&format!("{name}[{index}]")) {
            return value.clone();
        }
        let all = self.variable(name);
        match index.parse::<usize>() {
            Ok(number) => all.split(' ').nth(number).unwrap_or_default().to_owned(),
            Err(_) if matches!(index, "@" | "*") => all,
            Err(_) => UNKNOWN.to_string(),
        }
    }
}

/// Applies an operator of `${name...}` to a value; patterns are not evaluated.
fn applied(operator: &str, value: String, operand: String) -> String {
    let is_unknown = value.contains(UNKNOWN);
    let is_pattern = operand.contains(['*', '?', '[', UNKNOWN]);
    let literal = operand.trim_matches('\'');
    match operator {
        ":-" | "-" | ":=" | "=" if is_unknown => operand,
        ":+" | "+" => operand,
        ":" => UNKNOWN.to_string(),
        "%" | "%%" | "#" | "##" | "/" | "//" if is_unknown || is_pattern => UNKNOWN.to_string(),
        "%" | "%%" => value.strip_suffix(literal).unwrap_or(&value).to_owned(),
        "#" | "##" => value.strip_prefix(literal).unwrap_or(&value).to_owned(),
        "/" | "//" => {
            let (from, to) = operand.split_once('/').unwrap_or((&operand, ""));
            if from.is_empty() {
                value
            } else {
                // At most as long as the work that was counted when both were read.
                value.replacen(from, to, 64)
            }
        }
        _ => value,
    }
}
