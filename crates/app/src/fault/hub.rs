use plimsoll_hub::{Absent, HubError, Setting};
use plimsoll_wire::FaultCode;

use super::os::path;
use super::{ToFault, Told, told};

fn at_host(code: FaultCode, host: &str, file: Option<&str>) -> Told {
    let mut told = told(code, [("host", host.into())]);
    told.params.extend(file.map(|file| ("file", file.into())));
    told
}

impl ToFault for HubError {
    fn code(&self) -> Told {
        let file = |file: &String| ("file", file.as_str().into());
        match self {
            Self::Offline => told(FaultCode::HubOffline, []),
            Self::Unreachable { host, file: of, .. } | Self::BrokenOff { host, file: of, .. } => {
                at_host(FaultCode::HubUnreachable, host, Some(of))
            }
            Self::Stalled { host, file: of, .. } => at_host(FaultCode::TransferStalled, host, Some(of)),
            Self::NeedsToken { repo, status } => told(
                FaultCode::HubNeedsToken,
                [
                    ("repo", repo.as_str().into()),
                    ("status", u32::from(*status).into()),
                ],
            ),
            Self::Certificate { host, file: of, .. } => at_host(FaultCode::HubCertificate, host, Some(of)),
            Self::Proxy { host, file: of, .. } => at_host(FaultCode::HubProxy, host, Some(of)),
            Self::Quota { host, status } => {
                let mut told = at_host(FaultCode::HubQuota, host, None);
                told.params.push(("status", u32::from(*status).into()));
                told
            }
            Self::NotFound {
                repo,
                what: Absent::Revision,
                name,
            } => told(
                FaultCode::HubRevisionGone,
                [("repo", repo.as_str().into()), ("revision", name.as_str().into())],
            ),
            Self::NotFound { repo, name, .. } => told(
                FaultCode::HubNotFound,
                [("repo", repo.as_str().into()), file(name)],
            ),
            Self::Refused {
                host,
                file: of,
                status,
            } => told(
                FaultCode::HubRefused,
                [
                    ("host", host.as_str().into()),
                    file(of),
                    ("status", u32::from(*status).into()),
                ],
            ),
            Self::TooManyRequests { host, retry_after } => {
                let mut told = told(FaultCode::HubTooManyRequests, [("host", host.as_str().into())]);
                told.params
                    .extend(retry_after.map(|wait| ("seconds", wait.as_secs().into())));
                told
            }
            Self::BadAnswer { host, file: of, .. } => {
                told(FaultCode::HubRefused, [("host", host.as_str().into()), file(of)])
            }
            Self::Changed { file: of, .. } => told(FaultCode::HubChanged, [file(of)]),
            Self::HashMismatch { file: of, .. } => told(FaultCode::HashMismatch, [file(of)]),
            Self::DiskFull { folder, needed, free } => told(
                FaultCode::DiskFull,
                [("needed", needed.0.into()), ("free", free.0.into()), path(folder)],
            ),
            Self::File(error) => error.code(),
            Self::UnsafeName(error) => error.code(),
            Self::BadRepository { name } => told(FaultCode::UnknownModel, [("model", name.as_str().into())]),
            Self::BadSetting { what } => {
                let setting = match what {
                    Setting::Endpoint => "HF_ENDPOINT",
                    Setting::Proxy => "HTTPS_PROXY",
                    Setting::Token => "HF_TOKEN",
                };
                let code = match what {
                    Setting::Proxy => FaultCode::HubProxy,
                    Setting::Endpoint => FaultCode::HubUnreachable,
                    Setting::Token => FaultCode::HubNeedsToken,
                };
                told(code, [("setting", setting.into())])
            }
            Self::Client(_) => told(FaultCode::HubUnreachable, []),
            Self::Api { repo, .. } => told(FaultCode::HubRefused, [("repo", repo.as_str().into())]),
            Self::Header { path: at, source } => {
                let mut told = source.code();
                if told.params.iter().all(|(name, _)| *name != "path") {
                    told.params.push(path(at));
                }
                told
            }
            Self::NoModel { name } => told(FaultCode::NotGguf, [file(name)]),
            Self::NotInLibrary { id } => told(FaultCode::UnknownModel, [("model", id.as_str().into())]),
            Self::OutsideLibrary { path: at } => told(FaultCode::UnsafeName, [path(at)]),
            Self::Job(error) => error.code(),
        }
    }
}
