//! Puts the help's sentences into the commands: `help.plan._` is what `plan` does, `help.plan.context` what
//! its `--context` means, `help._.json` an option of all commands.

use clap::{Arg, Command};

use crate::lang::Lang;

/// What clap adds by itself and explains by itself.
const CLAPS_OWN: [&str; 2] = ["help", "version"];

pub(crate) fn speak(command: Command, lang: &Lang) -> Command {
    with(command, lang, "help")
}

fn with(command: Command, lang: &Lang, area: &str) -> Command {
    let about = lang.text_or_empty(&format!("{area}._"));
    let command = command.about(about).mut_args(|arg| explained(arg, lang, area));
    command.mut_subcommands(|below| {
        let area = format!("{area}.{}", below.get_name());
        with(below, lang, &area)
    })
}

fn explained(arg: Arg, lang: &Lang, area: &str) -> Arg {
    if CLAPS_OWN.contains(&arg.get_id().as_str()) {
        return arg;
    }
    let key = key_of(&arg, area);
    arg.help(lang.text_or_empty(&key))
}

fn key_of(arg: &Arg, area: &str) -> String {
    let area = if arg.is_global_set() { "help._all" } else { area };
    format!("{area}.{}", arg.get_id())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Cli;

    fn keys(command: &Command, area: &str, out: &mut Vec<String>) {
        out.push(format!("{area}._"));
        let own = command
            .get_arguments()
            .filter(|arg| !CLAPS_OWN.contains(&arg.get_id().as_str()));
        out.extend(own.map(|arg| key_of(arg, area)));
        for below in command.get_subcommands() {
            keys(below, &format!("{area}.{}", below.get_name()), out);
        }
    }

    #[test]
    fn every_command_and_option_is_explained() {
        let mut wanted = Vec::new();
        keys(&Cli::command(), "help", &mut wanted);
        assert!(wanted.len() > 40, "{wanted:?}");
        let english = Lang::english();
        let missing: Vec<_> = wanted.iter().filter(|key| english.find(key).is_none()).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn the_command_line_is_sound() {
        speak(Cli::command(), &Lang::german()).debug_assert();
    }
}
