use std::sync::Arc;

use plimsoll_wire::*;

use crate::app::App;
use crate::fault::{Failed, fault};
use crate::table::Table;

pub(crate) fn table() -> Table<App> {
    Table::new()
        .on(read_status)
        .on(watch_status)
        .on(read_machine)
        .on(make_plan)
        .on(recommend)
        .on(start_setup)
        .on(stop_setup)
        .on(list_models)
        .on(pull_model)
        .on(stop_pull)
        .on(import_model)
        .on(verify_model)
        .on(remove_model)
        .on(list_engines)
        .on(add_engine)
        .on(use_engine)
        .on(remove_engine)
        .on(check_engine)
        .on(install_engine)
        .on(read_router)
        .on(load_model)
        .on(unload_model)
        .on(stop_router)
        .on(list_conversations)
        .on(open_conversation)
        .on(create_conversation)
        .on(rename_conversation)
        .on(delete_conversation)
        .on(restore_conversation)
        .on(start_turn)
        .on(stop_turn)
        .on(read_settings)
        .on(write_settings)
        .on(read_endpoint)
}

async fn read_status(_app: Arc<App>, _call: ReadStatus) -> Result<Status, Failed> {
    Err(fault(FaultCode::Internal, []).into())
}
async fn watch_status(_app: Arc<App>, _call: WatchStatus) -> Result<Done, Failed> {
    Err(fault(FaultCode::Internal, []).into())
}
async fn read_machine(_app: Arc<App>, _call: ReadMachine) -> Result<Machine, Failed> {
    Err(fault(FaultCode::Internal, []).into())
}
async fn make_plan(_app: Arc<App>, _call: MakePlan) -> Result<Plan, Failed> {
    Err(fault(FaultCode::Internal, []).into())
}
async fn recommend(_app: Arc<App>, _call: Recommend) -> Result<Recommendation, Failed> {
    Err(fault(FaultCode::Internal, []).into())
}
async fn start_setup(_app: Arc<App>, _call: StartSetup) -> Result<Setup, Failed> {
    Err(fault(FaultCode::Internal, []).into())
}
async fn stop_setup(_app: Arc<App>, _call: StopSetup) -> Result<Done, Failed> {
    Err(fault(FaultCode::Internal, []).into())
}
async fn list_models(_app: Arc<App>, _call: ListModels) -> Result<Library, Failed> {
    Err(fault(FaultCode::Internal, []).into())
}
async fn pull_model(_app: Arc<App>, _call: PullModel) -> Result<Started, Failed> {
    Err(fault(FaultCode::Internal, []).into())
}
async fn stop_pull(_app: Arc<App>, _call: StopPull) -> Result<Done, Failed> {
    Err(fault(FaultCode::Internal, []).into())
}
async fn import_model(_app: Arc<App>, _call: ImportModel) -> Result<LibraryModel, Failed> {
    Err(fault(FaultCode::Internal, []).into())
}
async fn verify_model(_app: Arc<App>, _call: VerifyModel) -> Result<VerifyReply, Failed> {
    Err(fault(FaultCode::Internal, []).into())
}
async fn remove_model(_app: Arc<App>, _call: RemoveModel) -> Result<Removed, Failed> {
    Err(fault(FaultCode::Internal, []).into())
}
async fn list_engines(_app: Arc<App>, _call: ListEngines) -> Result<EngineList, Failed> {
    Err(fault(FaultCode::Internal, []).into())
}
async fn add_engine(_app: Arc<App>, _call: AddEngine) -> Result<EngineList, Failed> {
    Err(fault(FaultCode::Internal, []).into())
}
async fn use_engine(_app: Arc<App>, _call: UseEngine) -> Result<EngineList, Failed> {
    Err(fault(FaultCode::Internal, []).into())
}
async fn remove_engine(_app: Arc<App>, _call: RemoveEngine) -> Result<EngineList, Failed> {
    Err(fault(FaultCode::Internal, []).into())
}
async fn check_engine(_app: Arc<App>, _call: CheckEngine) -> Result<Check, Failed> {
    Err(fault(FaultCode::Internal, []).into())
}
async fn install_engine(_app: Arc<App>, _call: InstallEngine) -> Result<Started, Failed> {
    Err(fault(FaultCode::Internal, []).into())
}
async fn read_router(_app: Arc<App>, _call: ReadRouter) -> Result<Router, Failed> {
    Err(fault(FaultCode::Internal, []).into())
}
async fn load_model(_app: Arc<App>, _call: LoadModel) -> Result<Router, Failed> {
    Err(fault(FaultCode::Internal, []).into())
}
async fn unload_model(_app: Arc<App>, _call: UnloadModel) -> Result<Router, Failed> {
    Err(fault(FaultCode::Internal, []).into())
}
async fn stop_router(_app: Arc<App>, _call: StopRouter) -> Result<Router, Failed> {
    Err(fault(FaultCode::Internal, []).into())
}
async fn list_conversations(_app: Arc<App>, _call: ListConversations) -> Result<Conversations, Failed> {
    Err(fault(FaultCode::Internal, []).into())
}
async fn open_conversation(_app: Arc<App>, _call: OpenConversation) -> Result<Conversation, Failed> {
    Err(fault(FaultCode::Internal, []).into())
}
async fn create_conversation(_app: Arc<App>, _call: CreateConversation) -> Result<Conversation, Failed> {
    Err(fault(FaultCode::Internal, []).into())
}
async fn rename_conversation(_app: Arc<App>, _call: RenameConversation) -> Result<Done, Failed> {
    Err(fault(FaultCode::Internal, []).into())
}
async fn delete_conversation(_app: Arc<App>, _call: DeleteConversation) -> Result<Done, Failed> {
    Err(fault(FaultCode::Internal, []).into())
}
async fn restore_conversation(_app: Arc<App>, _call: RestoreConversation) -> Result<Done, Failed> {
    Err(fault(FaultCode::Internal, []).into())
}
async fn start_turn(_app: Arc<App>, _call: StartTurn) -> Result<Started, Failed> {
    Err(fault(FaultCode::Internal, []).into())
}
async fn stop_turn(_app: Arc<App>, _call: StopTurn) -> Result<Done, Failed> {
    Err(fault(FaultCode::Internal, []).into())
}
async fn read_settings(_app: Arc<App>, _call: ReadSettings) -> Result<Settings, Failed> {
    Err(fault(FaultCode::Internal, []).into())
}
async fn write_settings(_app: Arc<App>, _call: WriteSettings) -> Result<Settings, Failed> {
    Err(fault(FaultCode::Internal, []).into())
}
async fn read_endpoint(_app: Arc<App>, _call: ReadEndpoint) -> Result<Endpoint, Failed> {
    Err(fault(FaultCode::Internal, []).into())
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
