//! Clocks, power and what holds them down, from NVML, which is opened at run time: without it there are no readings.

use crate::clocks::{Limits, Reading};
use nvml_wrapper::Nvml;
use nvml_wrapper::enum_wrappers::device::Clock;
use nvml_wrapper::enums::device::SampleValue;
use nvml_wrapper::structs::device::FieldId;
use nvml_wrapper::sys_exports::field_id::NVML_FI_DEV_POWER_INSTANT;

/// NVML, and the GPU that is asked about.
pub(crate) struct Gauge {
    nvml: Nvml,
    pci: String,
    limits: Limits,
}

impl Gauge {
    /// The gauge of the GPU at this PCI address; `None` where NVML is not there or does not know the GPU. The number of a
    /// GPU would not do: `CUDA_VISIBLE_DEVICES` renumbers them, and NVML does not read it.
    pub(crate) fn open(pci: String) -> Option<Gauge> {
        let nvml = Nvml::init().ok()?;
        let limit = |clock| nvml.device_by_pci_bus_id(pci.as_str()).ok()?.max_clock_info(clock).ok();
        let limits = Limits { sm_mhz: limit(Clock::SM), memory_mhz: limit(Clock::Memory) };
        nvml.device_by_pci_bus_id(pci.as_str()).ok()?;
        Some(Gauge { nvml, pci, limits })
    }

    /// The highest clocks.
    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    /// What the GPU tells now; `None` where it tells nothing.
    pub(crate) fn read(&self) -> Option<Reading> {
        let device = self.nvml.device_by_pci_bus_id(self.pci.as_str()).ok()?;
        let reasons = device.current_throttle_reasons().ok().map(|reasons| reasons.bits());
        let sm_mhz = device.clock_info(Clock::SM).ok();
        if reasons.is_none() && sm_mhz.is_none() {
            return None;
        }
        Some(Reading {
            sm_mhz,
            memory_mhz: device.clock_info(Clock::Memory).ok(),
            power_w: power(&device).map(|milliwatts| milliwatts / 1e3),
            reasons: reasons.unwrap_or(0),
        })
    }
}

/// The power at this instant in milliwatts. `nvmlDeviceGetPowerUsage` tells the mean of a second on newer GPUs, which is
/// fifty batches; older ones lack the field, and tell the instant there.
fn power(device: &nvml_wrapper::Device<'_>) -> Option<f64> {
    let fields = device.field_values_for(&[FieldId(NVML_FI_DEV_POWER_INSTANT)]).unwrap_or_default();
    let instant = fields.into_iter().next().and_then(Result::ok).and_then(|field| field.value.ok());
    match instant {
        Some(SampleValue::U32(value)) => Some(f64::from(value)),
        Some(SampleValue::U64(value)) => Some(value as f64),
        Some(SampleValue::I64(value)) => Some(value as f64),
        Some(SampleValue::F64(value)) => Some(value),
        None => device.power_usage().ok().map(f64::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_that_is_not_there_has_no_gauge() {
        assert!(Gauge::open("ffff:ff:1f.0".to_string()).is_none());
    }
}
