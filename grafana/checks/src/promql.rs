//! What an expression of PromQL names. Prometheus parses it; this finds the selectors in it.

/// A selector of an expression, without its range and offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector<'a> {
    /// The name of the metric.
    pub metric: &'a str,
    /// The matchers with their braces, or nothing.
    pub matchers: &'a str,
    /// The expression before it.
    pub before: &'a str,
}

/// Words that name no metric.
const WORDS: [&str; 9] = ["and", "or", "unless", "bool", "offset", "inf", "nan", "start", "end"];
/// Words that a list of labels may follow.
const LISTS: [&str; 6] = ["by", "without", "on", "ignoring", "group_left", "group_right"];

impl Selector<'_> {
    /// The selector alone.
    pub fn text(&self) -> String {
        format!("{}{}", self.metric, self.matchers)
    }

    /// Whether it is in `max by (…) (…)`, alone or with others of the same process.
    pub fn is_max_by(&self) -> bool {
        let mut depth = 0;
        let opened = self.before.rfind(|c| {
            depth += i32::from(c == ')') - i32::from(c == '(');
            depth < 0
        });
        let labels = opened.and_then(|at| self.before[..at].trim_end().strip_suffix(')'));
        let by = labels.and_then(|before| before.rsplit_once('('));
        by.is_some_and(|(before, _)| before.trim_end().ends_with("max by"))
    }

    /// Whether it is the whole argument of this function.
    pub fn is_in(&self, function: &str) -> bool {
        let before = self.before.trim_end().strip_suffix('(');
        before.is_some_and(|before| before.ends_with(function))
    }
}

/// Every selector of an expression, in its order.
pub fn selectors(expression: &str) -> Vec<Selector<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = expression[at..].chars().next() {
        let rest = &expression[at..];
        at += match first {
            '"' => quoted(rest),
            '[' => rest.find(']').map_or(rest.len(), |end| end + 1),
            _ if first.is_ascii_digit() => word(rest),
            _ if is_of_a_name(first) => {
                let (name, after) = rest.split_at(word(rest));
                let list = after.trim_start();
                if LISTS.contains(&name) && list.starts_with('(') {
                    let skipped = after.len() - list.len();
                    name.len() + skipped + list.find(')').map_or(list.len(), |end| end + 1)
                } else if WORDS.contains(&name) || LISTS.contains(&name) || is_operator(list) {
                    name.len()
                } else {
                    let matchers = &after[..if after.starts_with('{') { braces(after) } else { 0 }];
                    found.push(Selector { metric: name, matchers, before: &expression[..at] });
                    name.len() + matchers.len()
                }
            }
            _ => first.len_utf8(),
        };
    }
    found
}

/// Whether what follows a name makes it a function or an aggregation: `(…)`, `by (…)`.
fn is_operator(after: &str) -> bool {
    after.starts_with('(') || ["by", "without"].contains(&&after[..word(after)])
}

fn is_of_a_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == ':'
}

/// The length of the word at the beginning.
fn word(text: &str) -> usize {
    text.find(|c| !is_of_a_name(c)).unwrap_or(text.len())
}

/// The length of the quoted text at the beginning.
fn quoted(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of the matchers at the beginning.
fn braces(text: &str) -> usize {
    let mut at = 1;
    while let Some(c) = text[at..].chars().next() {
        match c {
            '}' => return at + 1,
            '"' => at += quoted(&text[at..]),
            _ => at += c.len_utf8(),
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_found_and_nothing_else() {
        let expression = r#"max by (queue, state) (a_b{q="x}\"y", n=~".*"})
            / on (queue) group_left (state) sum without (le) (rate(queue:c:d[5m] offset 1h))
            > bool 14.4 * 1e3 unless e_total{} or histogram_quantile(0.5, f_bucket) and inf"#;
        let found = selectors(expression);
        let texts: Vec<_> = found.iter().map(Selector::text).collect();
        assert_eq!(texts, [r#"a_b{q="x}\"y", n=~".*"}"#, "queue:c:d", "e_total{}", "f_bucket"]);
        assert!(found[0].is_max_by() && !found[2].is_max_by());
        assert!(found[1].is_in("rate") && !found[1].is_in("increase"));
        assert!(!selectors("sum by (queue) (a)")[0].is_max_by());
        assert!(selectors("max by (queue) (b + a)")[1].is_max_by());
        assert!(!selectors("max by (queue) (b) + a")[1].is_max_by());
        assert!(!selectors("max by (queue) (sum by (queue) (a))")[0].is_max_by());
    }
}
