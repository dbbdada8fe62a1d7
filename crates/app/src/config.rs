use std::path::{Path, PathBuf};

use plimsoll_catalog::Catalog;
use plimsoll_hardware::facts::Drivers;
use plimsoll_hub::{HubConfig, OtherPlaces, Source};
use plimsoll_os::keyring::Keyring;
use plimsoll_os::{Environment, Places};
use plimsoll_wire::{Fault, FaultCode};

use crate::fault::{ToFault as _, fault};
use crate::refresh::{self, Publisher};

/// What the app is told once, at its start: places and the environment. Nothing below reads the environment.
#[derive(Debug, Clone)]
pub struct Config {
    /// Database, engines, logs and the router's state live here.
    pub home: PathBuf,
    pub(crate) places: Places,
    pub(crate) environment: Environment,
    pub(crate) hub: HubConfig,
    /// Where other programs keep their models.
    pub(crate) elsewhere: Vec<Source>,
    pub(crate) catalog: &'static Catalog,
    pub(crate) drivers: Drivers,
    /// Of the keys of providers.
    pub(crate) keyring: Keyring,
    /// Of newer catalogs.
    pub(crate) publisher: Option<Publisher>,
}

impl Config {
    pub fn from(environment: &Environment) -> Result<Self, Fault> {
        let places = Places::from(environment).map_err(|error| error.to_fault())?;
        let hub = HubConfig::from_environment(environment, places.hub_cache.clone())
            .map_err(|error| error.to_fault())?;
        let catalog = Catalog::packaged().map_err(|error| {
            let mut fault = fault(FaultCode::Internal, []);
            fault.trace.push(error.to_string());
            fault
        })?;
        let publisher = Publisher::from(environment);
        let catalog = publisher
            .as_ref()
            .and_then(|publisher| refresh::kept(&places.home, publisher))
            // Lives as long as the program, as the packaged one does.
            .map_or(catalog, |newer| Box::leak(Box::new(newer.catalog)));
        Ok(Self {
            home: places.home.clone(),
            publisher,
            places,
            environment: environment.clone(),
            hub,
            elsewhere: OtherPlaces::from_environment(environment, Path::new("/")).0,
            catalog,
            keyring: keyring(environment),
            drivers: Drivers::Thread,
        })
    }

    /// Where a person looks for what they saved.
    pub(crate) fn downloads(&self) -> Result<PathBuf, Fault> {
        self.environment
            .downloads()
            .ok_or_else(|| fault(FaultCode::WriteFailed, [("path", "Downloads".into())]))
    }

    /// Another catalog than the packaged one: for tests, and for a distribution with models or mirrors of its own.
    #[must_use]
    pub fn with_catalog(mut self, catalog: &'static Catalog) -> Self {
        self.catalog = catalog;
        self
    }

    /// Asks graphics drivers in a child of `program`, so that one that crashes takes only the child down. For
    /// programs whose `main` begins with [`crate::driver_child`].
    #[must_use]
    pub fn with_driver_child(mut self, program: PathBuf) -> Self {
        self.drivers = Drivers::Child { program };
        self
    }
}

/// `PLIMSOLL_KEYRING=off` keeps keys in memory: for tests, and for machines whose keyring is not to be used.
fn keyring(environment: &Environment) -> Keyring {
    if environment.filled("PLIMSOLL_KEYRING") == Some("off") {
        Keyring::memory()
    } else {
        Keyring::system("plimsoll")
    }
}
