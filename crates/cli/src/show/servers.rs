use plimsoll_wire::{ForeignServer, ForeignServers, ServerKind};

use crate::lang::{clean, params};
use crate::out::Out;

pub(crate) fn servers(out: &Out, servers: &ForeignServers) -> String {
    if servers.servers.is_empty() {
        return out.lang.text("servers.none").to_owned();
    }
    let lines: Vec<String> = servers.servers.iter().map(|server| one(out, server)).collect();
    lines.join("\n")
}

fn one(out: &Out, server: &ForeignServer) -> String {
    let name = out.lang.text(match server.kind {
        ServerKind::LlamaServer => "servers.llamaServer",
        ServerKind::Ollama => "servers.ollama",
        ServerKind::LmStudio => "servers.lmStudio",
    });
    let mut said = params! { id = clean(&server.id), name = name, models = u64::try_from(server.models.len()).unwrap_or(u64::MAX) };
    if let Some(pid) = server.pid {
        said.insert("pid".to_owned(), pid.into());
    }
    if let Some(bytes) = server.memory_bytes {
        said.insert("memory".to_owned(), bytes.into());
    }
    if let Some(bytes) = server.device_bytes.filter(|&bytes| bytes > 0) {
        said.insert("devices".to_owned(), bytes.into());
    }
    let mut line = out.say("servers.one", &said);
    for (is, key) in [
        (server.wants_key, "servers.wantsKey"),
        (server.used, "servers.used"),
        (server.ignored, "servers.ignored"),
    ] {
        if is {
            line.push_str(", ");
            line.push_str(out.lang.text(key));
        }
    }
    line
}
