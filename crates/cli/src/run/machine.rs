use std::path::Path;

use plimsoll_app::Judged;
use plimsoll_os::files;
use plimsoll_units::Bytes;
use plimsoll_wire::{MachineDetails, OverrideMachine, ReadMachine, ReadMachineDetails};

use super::Session;
use crate::args::ProbeArgs;
use crate::change;
use crate::failure::{Failure, at, no_such_device, unreadable, unwritable};
use crate::out::Form;
use crate::show;

/// A list of many recorded machines fits.
const FACTS_BYTES_MAX: Bytes = Bytes::mib(32);

pub(super) async fn probe(session: &Session, args: ProbeArgs) -> Result<(), Failure> {
    if let Some(path) = &args.facts {
        return judge(session, path);
    }
    if let Some(path) = &args.record {
        let facts = session.app.record_facts().await?;
        files::replace(path, &facts).map_err(|error| unwritable(path, &error))?;
    }
    // What was just recorded is what is shown.
    let fresh = args.record.is_none();
    if !(args.set.is_empty() && args.unset.is_empty()) {
        say(session, &args, fresh).await?;
    }
    // A program that asks in a loop must not keep every processor busy; a person wants every number.
    let measure = args.measure || session.out.form == Form::Person;
    let machine = session.ask(ReadMachine { fresh, measure }).await?;
    session.out.answer(&machine, show::machine);
    Ok(())
}

/// Changes what the person says about the machine; what is taken back is taken back first.
async fn say(session: &Session, args: &ProbeArgs, fresh: bool) -> Result<(), Failure> {
    let measure = false;
    let MachineDetails {
        found, mut overrides, ..
    } = session.ask(ReadMachineDetails { fresh, measure }).await?;
    for back in &args.unset {
        change::take_back(&mut overrides, back);
    }
    for wanted in &args.set {
        let id = wanted.device();
        // A name that was mistyped would wait for a device that never comes.
        if let Some(id) = id.filter(|&id| !found.devices.iter().any(|device| device.id == id)) {
            return Err(no_such_device(id));
        }
        change::apply(&mut overrides, wanted);
    }
    session.ask(OverrideMachine { overrides }).await?;
    Ok(())
}

fn judge(session: &Session, path: &Path) -> Result<(), Failure> {
    let bytes = files::read_up_to(path, FACTS_BYTES_MAX).map_err(|error| unreadable(path, &error))?;
    let judged = plimsoll_app::judge_facts(&bytes).map_err(|fault| at(path, fault))?;
    session.out.answer(&judged, |out, judged| match judged {
        Judged::One(machine) => show::machine(out, machine),
        Judged::Many(machines) => {
            let shown = machines.iter().map(|machine| show::machine(out, machine));
            shown.collect::<Vec<_>>().join("\n\n")
        }
    });
    Ok(())
}
