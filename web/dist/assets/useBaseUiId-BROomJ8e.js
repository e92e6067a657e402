//# allFunctionsCalledOnLoad
import{lt as e}from"./inertValue-DKEkBuRV.js";function t(t){return e(t,`base-ui`)}export{t};