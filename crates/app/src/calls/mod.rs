//! The bodies of the calls, and the one table that names them.

mod bench;
mod chat;
mod context;
mod conversations;
mod engines;
mod library;
mod live;
mod models;
mod plan;
mod providers;
mod router;
mod servers;

use crate::app::App;
use crate::table::Table;

pub(crate) fn table() -> Table<App> {
    Table::new()
        .on(live::read_status)
        .on(live::watch_status)
        .on(live::start_setup)
        .on(live::stop_setup)
        .on(live::read_settings)
        .on(live::write_settings)
        .on(live::read_endpoint)
        .on(live::open_endpoint)
        .on(live::read_hub)
        .on(live::set_hub_token)
        .on(plan::read_machine)
        .on(plan::read_machine_details)
        .on(plan::override_machine)
        .on(plan::make_plan)
        .on(plan::recommend)
        .on(models::list_models)
        .on(models::read_model)
        .on(models::refresh_catalog)
        .on(models::pull_model)
        .on(models::stop_pull)
        .on(models::cancel_pull)
        .on(models::import_model)
        .on(models::verify_model)
        .on(models::remove_model)
        .on(library::find_duplicates)
        .on(library::stop_comparing)
        .on(library::read_folders)
        .on(library::add_folder)
        .on(library::remove_folder)
        .on(library::move_library)
        .on(library::search_hub)
        .on(library::list_variants)
        .on(library::fit_variant)
        .on(engines::list_engines)
        .on(engines::add_engine)
        .on(engines::use_engine)
        .on(engines::newest_engines)
        .on(engines::roll_back_engine)
        .on(engines::remove_engine)
        .on(engines::check_engine)
        .on(engines::install_engine)
        .on(router::read_router)
        .on(router::load_model)
        .on(router::unload_model)
        .on(router::stop_router)
        .on(bench::run_bench)
        .on(providers::list_providers)
        .on(providers::set_provider_key)
        .on(providers::save_provider)
        .on(providers::remove_provider)
        .on(providers::list_provider_models)
        .on(providers::choose_provider_models)
        .on(providers::read_losses)
        .on(servers::find_servers)
        .on(servers::use_server)
        .on(servers::ignore_server)
        .on(chat::list_conversations)
        .on(chat::open_conversation)
        .on(chat::create_conversation)
        .on(chat::rename_conversation)
        .on(chat::delete_conversation)
        .on(chat::restore_conversation)
        .on(conversations::empty_trash)
        .on(conversations::search)
        .on(conversations::show_branch)
        .on(conversations::read_settings)
        .on(conversations::set_settings)
        .on(conversations::set_model_settings)
        .on(conversations::export)
        .on(conversations::import)
        .on(chat::start_turn)
        .on(chat::answer_again)
        .on(chat::set_tools)
        .on(chat::answer_tool)
        .on(chat::stop_turn)
        .on(context::read_context)
        .on(context::plan_compaction)
        .on(context::compact_now)
        .on(context::undo_compaction)
        .on(context::set_compaction_mode)
        .on(context::expand_compaction)
        .on(context::search_archive)
        .on(context::report_context)
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_call_of_the_contract_has_one_body() {
        let mut bodies = super::table().names().to_vec();
        let mut calls = plimsoll_wire::CALL_NAMES.to_vec();
        bodies.sort_unstable();
        calls.sort_unstable();
        assert_eq!(bodies, calls);
    }
}
